"""Submissions: limits, receipts, and a team's choice of the submissions that count."""
