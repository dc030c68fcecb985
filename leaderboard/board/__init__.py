"""The leaderboard: results, statistics, and the pages that publish them."""
