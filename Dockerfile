# The image with ringmaster and ringtrain. `sh docker/build.sh` builds it.
#
#   RINGMASTER_CUDA   ON adds the CUDA backend: the build stage is then based on NVIDIA's image with
#                     the toolkit, and the image gets the CUDA libraries that ringtrain needs. By
#                     default there is none
#   RINGMASTER_CUDNN  OFF leaves cuDNN out of a build with CUDA, so that networks with convolutions
#                     run on the CPU. ON by default
#   RINGMASTER_CUDA_ARCHITECTURES   GPU architectures, "80;89;90;100" by default
#   BASE              base of the image: Debian 12, with CUDA Ubuntu 24.04
#   BUILD_BASE        base of the build stage, of the same distribution; with CUDA any that has the
#                     toolkit, cuDNN 9 and NCCL. docker/cuda_base.sh makes one on Debian 12
#   RINGMASTER_SEED   the image's seed for the control link, by default a random one
#   RINGMASTER_VERSION, RINGMASTER_REVISION   for the image's labels, which docker/build.sh sets
#
# There is no ENTRYPOINT: `docker run IMAGE train`, `docker run IMAGE` and SageMaker start the job,
# and any other command runs as it is.
ARG RINGMASTER_CUDA
ARG BASE=${RINGMASTER_CUDA:+ubuntu:24.04}
ARG BUILD_BASE=${RINGMASTER_CUDA:+nvidia/cuda:13.0.0-cudnn-devel-ubuntu24.04}

FROM ${BUILD_BASE:-${BASE:-debian:bookworm-slim}} AS build
# Uses the wheels that docker/build.sh has fetched; only without them does this step fetch any.
COPY docker /src/docker
ARG RINGMASTER_CUDA
RUN apt-get update -qq && sh /src/docker/without.sh build && \
    if ls /src/docker/wheels/onednn*.whl >/dev/null 2>&1; then fetch=; else fetch=fetch; fi && \
    sh /src/docker/packages.sh install build $fetch ${RINGMASTER_CUDA:+cuda} && \
    if [ -e /src/docker/wheels/ca.pem ]; then export PIP_CERT=/src/docker/wheels/ca.pem; fi && \
    sh /src/docker/fetch_onednn.sh /opt/onednn && \
    rm -rf /var/lib/apt/lists/* /var/cache/apt/*
COPY CMakeLists.txt LICENSE /src/
COPY cmake /src/cmake
COPY common /src/common
COPY entrypoint /src/entrypoint
COPY trainer /src/trainer
ARG RINGMASTER_CUDA_ARCHITECTURES=80;89;90;100
ARG RINGMASTER_CUDNN
RUN cmake -G Ninja -S /src -B /build -DCMAKE_BUILD_TYPE=Release -DRINGMASTER_TESTS=OFF \
        -DRINGMASTER_UNITY=ON -DONEDNN_ROOT=/opt/onednn \
        -DRINGMASTER_FREETYPE=ON -DRINGMASTER_SERVE=ON -DRINGMASTER_SOURCES=ON \
        -DRINGMASTER_CUDA="${RINGMASTER_CUDA:-OFF}" \
        -DRINGMASTER_CUDNN="${RINGMASTER_CUDNN:-${RINGMASTER_CUDA:-AUTO}}" \
        -DRINGMASTER_NCCL="${RINGMASTER_CUDA:-AUTO}" \
        -DRINGMASTER_CUDA_ARCHITECTURES="$RINGMASTER_CUDA_ARCHITECTURES" \
        -DCMAKE_INSTALL_PREFIX=/usr/local >/dev/null && \
    cmake --build /build --parallel "$(nproc)" && \
    DESTDIR=/out cmake --install /build --strip && \
    mkdir -p /out/usr/local/lib && \
    sh /src/docker/cuda_libs.sh /out/usr/local/bin/ringtrain /out/usr/local/lib && \
    if [ -e /opt/onednn ]; then \
        cp /opt/onednn/lib/libdnnl.so.3 /out/usr/local/lib/; \
        mkdir -p /out/usr/local/share/doc; \
        cp -r /opt/onednn/share/doc/onednn /out/usr/local/share/doc/; \
    fi && \
    rm -rf /build
# A step of its own keeps the build in the engine's cache when this stage's image is removed.
WORKDIR /out

# The base that both programs run on. It does not depend on the build stage, and both are built in
# parallel.
FROM ${BASE:-debian:bookworm-slim} AS run
ARG RINGMASTER_CUDA
# NVIDIA's container runtime reads these: the base's own values if it has any; empty means none.
ENV NVIDIA_VISIBLE_DEVICES=${NVIDIA_VISIBLE_DEVICES:-${RINGMASTER_CUDA:+all}} \
    NVIDIA_DRIVER_CAPABILITIES=${NVIDIA_DRIVER_CAPABILITIES:-${RINGMASTER_CUDA:+compute,utility}}
# No program changes its user: su, mount and the like lose their setuid and setgid bits.
COPY docker/packages.sh docker/without.sh /tmp/
RUN apt-get update -qq && sh /tmp/without.sh run && \
    sh /tmp/packages.sh install run mpi && \
    find / -xdev -type f -perm /6000 -exec chmod a-s {} + && \
    rm -rf /tmp/* /var/lib/apt/lists/* /var/cache/apt/* /var/log/apt /var/log/dpkg.log \
        /var/log/alternatives.log && \
    mkdir -p /opt/ml/input/config /opt/ml/input/data /opt/ml/model /opt/ml/output/data \
        /opt/ml/checkpoints /opt/ml/code

FROM run
COPY --from=build /out/ /
COPY docker/contents.sh /tmp/
# The SBOM, for people and scanners; the seed, which is made later, is not part of it.
RUN ldconfig && mkdir -p /usr/local/share/doc/ringmaster && \
    sh /tmp/contents.sh sbom >/usr/local/share/doc/ringmaster/sbom.spdx.json && rm /tmp/contents.sh
CMD ["train"]
ARG RINGMASTER_VERSION=unknown
ARG RINGMASTER_REVISION=unknown
LABEL com.amazonaws.sagemaker.capabilities.accept-bind-to-port=true
LABEL org.opencontainers.image.title="ringmaster" \
    org.opencontainers.image.description="turns a set of identical containers into one MPI training job" \
    org.opencontainers.image.licenses="Apache-2.0" \
    org.opencontainers.image.version="$RINGMASTER_VERSION" \
    org.opencontainers.image.revision="$RINGMASTER_REVISION"
# The seed is last, so that a new one changes only this layer. Anyone who can pull the image can
# read it.
ARG RINGMASTER_SEED
RUN mkdir -p /etc/ringmaster && umask 077 && \
    if [ -n "$RINGMASTER_SEED" ]; then printf '%s\n' "$RINGMASTER_SEED"; \
    else head -c 48 /dev/urandom | base64 -w 0; echo; fi >/etc/ringmaster/seed
