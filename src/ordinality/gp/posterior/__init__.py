"""The posterior of what is observed: one module for each form, and the choice among them."""
