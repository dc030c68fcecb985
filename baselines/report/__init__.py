"""The report on the validation sets: tables, figures, a page."""
