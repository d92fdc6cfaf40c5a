"""The harness: a pure core (model, plan, verdict, gate) in a thin shell. See README.md in this folder."""
