"""How text stands for numbers, times and truth values, and which words stand for missing values.

A column of text is looked at as a whole (`deciding`), and what is understood of it is a form, which reads the
same column of other datasets in the same way. It works on the different texts of a column, so it does not
matter which library holds them.
"""

from nammd.reading.text_formats.forms import BooleanForm, Form, form_from_dict
from nammd.reading.text_formats.numbers import NumberForm
from nammd.reading.text_formats.options import Reading
from nammd.reading.text_formats.times import DateForm, TimeForm

__all__ = ["BooleanForm", "DateForm", "Form", "NumberForm", "Reading", "TimeForm", "form_from_dict"]
