"""What a machine is, the machines we know, and what can be found out about them."""
