"""Building a competition: its settings, plan and folder."""
