# ringmaster and ringtrain in one image. `sh docker/build.sh` builds it.
#
#   BASE              base of the image, a Debian 12
#   BUILD_BASE        base of the build stage, of the same distribution
#   RINGMASTER_CUDA   ON with bases that have the CUDA toolkit and its libraries, for example
#                     BUILD_BASE=nvidia/cuda:13.0.0-cudnn-devel-ubuntu24.04 and
#                     BASE=nvidia/cuda:13.0.0-cudnn-runtime-ubuntu24.04
#   RINGMASTER_SEED   the image's seed for the control link; a random one where absent
#
# No ENTRYPOINT: `docker run IMAGE train`, `docker run IMAGE` and SageMaker start the job, any other
# command runs as it is.
ARG BASE=debian:bookworm-slim
ARG BUILD_BASE=${BASE}

FROM ${BUILD_BASE} AS build
COPY docker/packages.sh /src/docker/
RUN apt-get update -qq && sh /src/docker/packages.sh install build
# Wheels that docker/build.sh brought are used; only without them is something downloaded here.
COPY docker /src/docker
RUN if ! ls /src/docker/wheels/onednn*.whl >/dev/null 2>&1; then \
        sh /src/docker/packages.sh install fetch; \
        [ ! -e /src/docker/wheels/ca.pem ] || export PIP_CERT=/src/docker/wheels/ca.pem; \
    else \
        apt-get install -y -qq --no-install-recommends unzip >/dev/null; \
    fi && sh /src/docker/fetch_onednn.sh /opt/onednn
COPY CMakeLists.txt /src/
COPY cmake /src/cmake
COPY common /src/common
COPY entrypoint /src/entrypoint
COPY trainer /src/trainer
ARG RINGMASTER_CUDA=OFF
RUN cmake -S /src -B /build -DRINGMASTER_TESTS=OFF -DONEDNN_ROOT=/opt/onednn \
        -DRINGMASTER_CUDA="$RINGMASTER_CUDA" \
        -DCMAKE_INSTALL_PREFIX=/usr/local >/dev/null && \
    cmake --build /build --parallel "$(nproc)" && \
    DESTDIR=/out cmake --install /build --strip && \
    mkdir -p /out/usr/local/lib && \
    if [ -e /opt/onednn ]; then \
        cp /opt/onednn/lib/libdnnl.so.3 /out/usr/local/lib/; \
        mkdir -p /out/usr/local/share/doc; \
        cp -r /opt/onednn/share/doc/onednn /out/usr/local/share/doc/; \
    fi
# Debian's Open MPI insists on an ssh client and on plug-ins that draw topologies on X11. The image
# has neither: the launch goes over ringmaster's own link. An empty package stands in for them.
RUN mkdir -p /none/DEBIAN && \
    printf '%s\n' 'Package: ringmaster-without' 'Version: 1' 'Architecture: all' \
        'Maintainer: Ringmaster' 'Provides: ssh-client, libhwloc-plugins' \
        'Description: stands in for what an image with ringmaster does not need' \
        >/none/DEBIAN/control && \
    dpkg-deb --build /none /ringmaster-without.deb >/dev/null

FROM ${BASE}
COPY --from=build /ringmaster-without.deb /src/docker/packages.sh /tmp/
RUN apt-get update -qq && dpkg -i /tmp/ringmaster-without.deb >/dev/null && \
    sh /tmp/packages.sh install run mpi && \
    rm -rf /tmp/* /var/lib/apt/lists/* /var/cache/apt/* /var/log/apt /var/log/dpkg.log && \
    mkdir -p /opt/ml/input/config /opt/ml/input/data /opt/ml/model /opt/ml/output/data \
        /opt/ml/checkpoints /opt/ml/code
COPY --from=build /out/ /
RUN ldconfig
CMD ["train"]
# Last, so that a new seed changes this layer alone. It keeps out nobody who can pull the image.
ARG RINGMASTER_SEED
RUN mkdir -p /etc/ringmaster && umask 077 && \
    if [ -n "$RINGMASTER_SEED" ]; then printf '%s\n' "$RINGMASTER_SEED"; \
    else head -c 48 /dev/urandom | base64 -w 0; echo; fi >/etc/ringmaster/seed
