# A scoring host: validate, score and publish, without PyTorch. The competition is mounted, and its private/ with it:
#   docker build -t unseen-scoring .
#   docker run --rm --network none -v "$PWD/contest:/contest" unseen-scoring score /contest /contest/in/a.csv --team A
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
WORKDIR /home/scorer
ENTRYPOINT ["unseen"]
CMD ["--help"]
