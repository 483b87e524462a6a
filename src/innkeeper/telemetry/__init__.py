"""What the host says about itself: log formatting. Nothing is ever sent anywhere (architecture §8)."""
