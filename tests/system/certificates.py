"""Makes certificate authorities and certificates for tests, with openssl."""
import subprocess


def openssl(folder, *words):
    subprocess.run(["openssl", *words], check=True, stdout=subprocess.DEVNULL,
                   stderr=subprocess.DEVNULL, cwd=folder)


def authority(folder, name):
    openssl(folder, "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256",
            "-nodes", "-days", "2", "-keyout", f"{name}.key", "-out", f"{name}.pem",
            "-subj", f"/CN={name}")


def certificate(folder, name, host, days):
    """Makes a certificate that the authority `own` signs."""
    with open(f"{folder}/{name}.ext", "w", encoding="ascii") as file:
        file.write(f"subjectAltName=DNS:{host}")
    openssl(folder, "req", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes",
            "-keyout", f"{name}.key", "-out", f"{name}.csr", "-subj", f"/CN={host}")
    openssl(folder, "x509", "-req", "-in", f"{name}.csr", "-CA", "own.pem", "-CAkey", "own.key",
            "-CAcreateserial", "-extfile", f"{name}.ext", "-days", str(days),
            "-out", f"{name}.pem")
