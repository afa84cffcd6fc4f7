# One image for every service: Airflow, Spark's master and workers, MLflow.
# The environment is the locked one of the checkout; PostgreSQL's drivers are the only addition.
FROM python:3.11.14-slim-bookworm

ARG UV_VERSION=0.13.9

# Java 17 for Spark; curl for health checks; procps for Spark's scripts.
RUN apt-get update \
 && apt-get install -y --no-install-recommends openjdk-17-jre-headless curl procps tini \
 && rm -rf /var/lib/apt/lists/* \
 && pip install --no-cache-dir "uv==${UV_VERSION}" \
 && useradd --uid 50000 --create-home --shell /bin/bash isr

WORKDIR /opt/isr
ENV UV_PROJECT_ENVIRONMENT=/opt/isr/.venv \
    UV_PYTHON_DOWNLOADS=never \
    UV_LINK_MODE=copy \
    PATH=/opt/isr/.venv/bin:/usr/local/bin:/usr/bin:/bin \
    JAVA_HOME=/usr/lib/jvm/java-17-openjdk-amd64 \
    SPARK_HOME=/opt/isr/.venv/lib/python3.11/site-packages/pyspark \
    PYTHONUNBUFFERED=1

# Dependencies first: they change less often than the code.
COPY pyproject.toml uv.lock README.md ./
RUN uv sync --frozen --no-install-project --no-dev --compile-bytecode \
 && uv pip install --no-cache "psycopg2-binary==2.9.13" "asyncpg==0.32.0"

COPY . .
RUN uv sync --frozen --no-dev --inexact --compile-bytecode \
 && ln -sf "$(dirname "$(dirname "$(readlink -f "$(command -v java)")")")" /opt/java \
 && mkdir -p .state/airflow/logs && chown -R isr:isr .state

# The same on every architecture (the Debian path of Java names it).
ENV JAVA_HOME=/opt/java
USER isr
ENTRYPOINT ["tini", "--"]
CMD ["isr-pipeline", "--help"]
