"""Report on the validation sets: tables, figures and a page."""
