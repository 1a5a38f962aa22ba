"""The page of a monitor, live: `guard` decides who may see it, `site` answers, `running` listens."""
