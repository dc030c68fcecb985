# A scoring host: validate, score and publish, without PyTorch. The competition is mounted, and its private/ with it,
# which its owner alone can read, so that the container runs as whoever owns it:
#   docker build -t unseen-scoring .
#   docker run --rm --network none --user "$(id -u):$(id -g)" -v "$PWD/contest:/contest" \
#       unseen-scoring score /contest /contest/in/a.csv --team A
FROM python:3.12-slim
WORKDIR /unseen
COPY pyproject.toml README.md LICENSE ./
COPY submission submission
COPY starter starter
COPY baselines baselines
COPY oracle oracle
COPY leaderboard leaderboard
COPY unseen unseen
RUN pip install --no-cache-dir numpy jinja2 typer pydantic && pip install --no-cache-dir --no-deps .
RUN useradd --create-home scorer
USER scorer
# A folder that any user can enter.
WORKDIR /tmp
ENTRYPOINT ["unseen"]
CMD ["--help"]
