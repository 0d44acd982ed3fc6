"""Alembic's entry: runs on the connection that control hands over."""

from alembic import context

from services.control.tables import ledger

connection = context.config.attributes["connection"]
context.configure(connection=connection, target_metadata=ledger, render_as_batch=True)
with context.begin_transaction():
    context.run_migrations()
