"""Tables with a column of free text, whose mix of subjects is known."""

import numpy as np

SUBJECTS = {
    "delivery": ["parcel", "courier", "arrived", "late", "damaged", "waited", "doorstep"],
    "praise": ["lovely", "quality", "perfectly", "thanks", "happy", "recommend"],
    "returns": ["refund", "return", "money", "label", "unanswered", "complaint"],
}
COMMON = ["the", "a", "and", "i", "it", "was", "my", "to", "of", "for", "with", "this", "very"]


def reviews(rows, seed, returns=0.2):
    """Return columns of a table: stars, a price, and a text that is a complaint in a share of the rows."""
    rng = np.random.default_rng(seed)
    share = (1 - returns) / 2
    subjects = rng.choice(list(SUBJECTS), rows, p=(share, share, returns))
    texts = []
    for subject in subjects:
        words = [
            rng.choice(SUBJECTS[subject] if topical else COMMON)
            for topical in rng.random(rng.integers(12, 25)) < 0.4
        ]
        texts.append(" ".join(words).capitalize() + ".")
    return {
        "stars": rng.integers(1, 6, rows).tolist(),
        "price": rng.gamma(4.0, 10.0, rows).round(2).tolist(),
        "review": texts,
    }
