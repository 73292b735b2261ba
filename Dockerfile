# The image holds the program and the certificates of public authorities, and nothing else: no shell, no packages.
#   docker build --build-arg VERSION=v1.2.3 --tag fencepost:v1.2.3 .
ARG GO_IMAGE=golang:1.26.8

FROM ${GO_IMAGE} AS build
WORKDIR /src
COPY go.mod go.sum ./
RUN go mod download
COPY . .
ARG VERSION=dev
RUN scripts/build.sh "$VERSION" /fencepost

FROM scratch
COPY --from=build /etc/ssl/certs/ca-certificates.crt /etc/ssl/certs/
COPY --from=build /fencepost /fencepost
USER 65532:65532
EXPOSE 8080 9090
HEALTHCHECK --interval=10s --timeout=6s --start-period=10s CMD ["/fencepost", "health"]
ENTRYPOINT ["/fencepost"]
CMD ["serve"]
