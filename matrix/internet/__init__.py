"""The little internet of one network world: names, addresses and servers, and nothing behind them."""
