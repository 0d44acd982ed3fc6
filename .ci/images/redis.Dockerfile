# Replacement for redis:7-bookworm where no registry can be reached: Debian's own Redis 7.
FROM python:3.11-slim-bookworm
RUN apt-get update -qq \
 && apt-get install -qq -y --no-install-recommends redis-server \
 && rm -rf /var/lib/apt/lists/* \
 && install -d -o redis -g redis /data
WORKDIR /data
USER redis
EXPOSE 6379
# The public image accepts connections of the network that it is attached to, too.
ENTRYPOINT ["redis-server", "--protected-mode", "no"]
