"""A competition, made: settings, plan, folder."""
