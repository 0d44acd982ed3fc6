"""The console: the viewer's pages over the ledger, and what people do in open episodes."""
