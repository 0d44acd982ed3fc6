# Replacement for postgres:15-bookworm where no registry can be reached: Debian's own PostgreSQL 15.
FROM python:3.11-slim-bookworm
RUN apt-get update -qq \
 && apt-get install -qq -y --no-install-recommends postgresql \
 && rm -rf /var/lib/apt/lists/* \
 && ln -sf /usr/lib/postgresql/15/bin/pg_isready /usr/local/bin/pg_isready
COPY postgres-entrypoint /usr/local/bin/postgres-entrypoint
EXPOSE 5432
# PostgreSQL's fast shutdown.
STOPSIGNAL SIGINT
ENTRYPOINT ["postgres-entrypoint"]
CMD ["postgres"]
