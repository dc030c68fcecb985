"""Taking a submission in: limits, the receipt, the team's choice."""
