# swarm and git, without any agent: add your agent's program to an image of your own (docs/install.md).
FROM rust:1.90-slim-bookworm AS build
RUN apt-get update \
    && apt-get install -y --no-install-recommends gcc libc6-dev make \
    && rm -rf /var/lib/apt/lists/*
WORKDIR /src
COPY . .
RUN cargo build --release --locked --bin swarm

FROM debian:bookworm-slim
RUN apt-get update \
    && apt-get install -y --no-install-recommends ca-certificates git \
    && rm -rf /var/lib/apt/lists/*
COPY --from=build /src/target/release/swarm /usr/local/bin/swarm
WORKDIR /work
ENTRYPOINT ["swarm"]
