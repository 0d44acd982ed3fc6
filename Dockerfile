# One image for every service; compose.yaml says which of them a container is.
ARG PYTHON=python:3.11-slim-bookworm

FROM ${PYTHON} AS packages
# Where packages come from is the business of whoever builds: empty means pip's own default.
ARG PIP_INDEX_URL
ARG PIP_EXTRA_INDEX_URL
ARG PIP_TRUSTED_HOST
RUN python -m venv /opt/dayshift/venv
COPY requirements-runtime.lock /opt/dayshift/
RUN /opt/dayshift/venv/bin/pip install -q --no-cache-dir --disable-pip-version-check \
      --require-hashes -r /opt/dayshift/requirements-runtime.lock \
 && /opt/dayshift/venv/bin/pip uninstall -q -y pip setuptools \
 && find /opt/dayshift/venv -depth -type d -name tests -exec rm -r {} +

FROM packages AS worlds
ENV PATH=/opt/dayshift/venv/bin:$PATH PYTHONPATH=/opt/dayshift/app:/opt/dayshift/app/env_client
WORKDIR /opt/dayshift/app
COPY services services
COPY fixtures fixtures
COPY env_client env_client
RUN python -m compileall -q services fixtures env_client
ARG WORLDS="small standard"
RUN python -m fixtures --var /opt/dayshift build ${WORLDS}
# Without a registry it says so, and families of public packages refuse to open.
RUN DAYSHIFT_UPSTREAM=/opt/dayshift/upstream python -m fixtures fetch

FROM ${PYTHON}
# What the IDE isolates agents' programs with, and the programs that they have: services/ide/sandbox/programs.toml.
RUN apt-get update -qq \
 && apt-get install -qq -y --no-install-recommends bubblewrap curl git jq less make patch procps ripgrep tzdata \
 && rm -rf /var/lib/apt/lists/*
RUN useradd --system --uid 10001 --no-create-home --shell /usr/sbin/nologin dayshift \
 && install -d -o dayshift /var/lib/dayshift
COPY --from=worlds /opt/dayshift /opt/dayshift
# The system files of sandboxes, which would otherwise be made at the first start.
ARG PIP_INDEX_URL
ARG PIP_EXTRA_INDEX_URL
ARG PIP_TRUSTED_HOST
RUN cd /opt/dayshift/app && PATH=/opt/dayshift/venv/bin:$PATH && export DAYSHIFT_WHEELS=/opt/dayshift/wheels \
 && python -m services.ide.sandbox.wheelhouse && python -m services.ide.sandbox.system_files /opt/dayshift/sandbox
# The root file system may be read-only; what a service writes goes to /var/lib/dayshift and /tmp.
ENV PATH=/opt/dayshift/venv/bin:$PATH \
    PYTHONPATH=/opt/dayshift/app:/opt/dayshift/app/env_client \
    PYTHONDONTWRITEBYTECODE=1 PYTHONUNBUFFERED=1 \
    DAYSHIFT_VAR=/var/lib/dayshift \
    DAYSHIFT_BUILT_WORLDS=/opt/dayshift/worlds \
    DAYSHIFT_UPSTREAM=/opt/dayshift/upstream \
    DAYSHIFT_BUILT_SANDBOX=/opt/dayshift/sandbox \
    DAYSHIFT_WHEELS=/opt/dayshift/wheels \
    DAYSHIFT_HOST=0.0.0.0 DAYSHIFT_HARNESS_HOST=0.0.0.0
WORKDIR /opt/dayshift/app
VOLUME /var/lib/dayshift
USER dayshift
HEALTHCHECK --interval=5s --timeout=5s --start-period=120s --retries=6 CMD ["python", "-S", "-m", "services.health"]
ENTRYPOINT ["python", "-m", "services.container"]
CMD ["control"]
