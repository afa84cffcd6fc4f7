# One image for every service: Airflow, Spark's master and workers, MLflow. Every package is in
# uv.lock. Java is the distribution's, so the packaged one is left out.
FROM python:3.13.11-slim-bookworm AS environment

ARG UV_VERSION=0.13.9
RUN pip install --no-cache-dir "uv==${UV_VERSION}"

WORKDIR /opt/isr
ENV UV_PROJECT_ENVIRONMENT=/opt/isr/.venv \
    UV_PYTHON_DOWNLOADS=never \
    UV_LINK_MODE=copy \
    UV_NO_CACHE=1

# Dependencies first: they change less often than the code. Their own tests are not needed.
COPY pyproject.toml uv.lock README.md ./
RUN uv sync --frozen --no-install-project --no-dev --compile-bytecode \
      --extra night --extra airflow --extra server --extra s3 \
 && for package in pandas numba scipy pyarrow matplotlib sklearn; do \
      find .venv/lib/python3.*/site-packages/"${package}" -type d -name tests -prune -exec rm -r {} +; \
    done \
 && ln -s .venv/lib/python3.*/site-packages/pyspark spark

COPY LICENSE NOTICE ./
COPY config config
COPY dags dags
COPY expectations expectations
COPY isr_pipeline isr_pipeline
COPY spark_jobs spark_jobs
COPY tools tools

# The kernel is compiled for any processor of the architecture. numba compiles anew where a source's
# time differs, of which an image keeps whole seconds.
ENV NUMBA_CPU_NAME=generic \
    NUMBA_CACHE_DIR=/opt/kernel
RUN uv sync --frozen --no-dev --inexact --extra night --extra airflow --extra server --extra s3 \
 && find isr_pipeline -name '*.py' -exec touch --date=2026-01-01 {} + \
 && python -m compileall -q isr_pipeline \
 && .venv/bin/python -c "from isr_pipeline.worlds.ready import compile_kernel; compile_kernel()"


FROM python:3.13.11-slim-bookworm

# Java 17 for Spark; curl for health checks; procps for Spark's scripts.
RUN apt-get update \
 && apt-get install -y --no-install-recommends openjdk-17-jre-headless curl procps tini \
 && rm -rf /var/lib/apt/lists/* \
 && ln -s "$(dirname "$(dirname "$(readlink -f "$(command -v java)")")")" /opt/java \
 && useradd --uid 50000 --create-home --shell /bin/bash isr \
 && install --directory --owner isr --group isr \
      /opt/isr/.state /opt/isr/airflow /opt/isr/artifacts \
 && install --directory --mode 1777 /run/isr-secrets

# /opt/java is the same on every architecture (the Debian path of Java names it).
ENV PATH=/opt/isr/.venv/bin:/usr/local/bin:/usr/bin:/bin \
    JAVA_HOME=/opt/java \
    SPARK_HOME=/opt/isr/spark \
    NUMBA_CPU_NAME=generic \
    NUMBA_CACHE_DIR=/opt/kernel \
    PYTHONUNBUFFERED=1 \
    PYTHONDONTWRITEBYTECODE=1

WORKDIR /opt/isr
COPY --from=environment /opt/isr /opt/isr
COPY --from=environment --chown=isr:isr /opt/kernel /opt/kernel
USER isr
ENTRYPOINT ["tini", "--", "python", "/opt/isr/tools/containers/enter.py"]
CMD ["isr-pipeline", "--help"]
