"""Secrets by kind, form, carrier and position: the table that the tests of redaction walk.

In a text `S` stands for the secret and `N` for its name. A kind that has no name of its own has the text it stands in.
"""

from __future__ import annotations

import base64
import hashlib
import json
import re
from typing import NamedTuple

from tests.safe.program_kinds import PROGRAMS

HEAD = "E0312 05:49:00.241725  190330 server.go:12] "
NEXT = "I0312 05:49:01.000000  190330 server.go:13] it went on\n"
LEAK = 8  # characters of a secret in a row that tell it


class Case(NamedTuple):
    """A secret in its text, with what kind and form it is of."""

    kind: str
    form: str
    text: str
    secrets: tuple[str, ...]


def made(seed: str, length: int = 24) -> str:
    """Give a secret of letters of both cases and figures, the same one for the same seed."""
    code = base64.b64encode(hashlib.sha512(seed.encode()).digest()).decode()
    return "q7Z" + re.sub(r"[^A-Za-z0-9]", "", code)[: length - 3]


def figures(seed: str, length: int) -> str:
    """Give a secret as hexadecimal figures."""
    return hashlib.sha512(seed.encode()).hexdigest()[:length]


NAMES = (
    "password", "passwd", "Password", "db_password", "adminPassword", "MYSQL_ROOT_PASSWORD", "PGPASSWORD", "rootPass",
    "node.session.auth.password", "ssl.keystore.password", "spring.datasource.password", "keystorePass", "passphrase",
    "RABBITMQ_DEFAULT_PASS", "master_password", "bindPassword", "userPwd", "VAULT_PASSWD", "requirepass",
    "secret", "clientSecret", "client_secret", "chapSecret", "JWT_SECRET", "NEXTAUTH_SECRET", "appSecret", "secret_key",
    "SECRET_KEY_BASE", "RAILS_MASTER_KEY", "AWS_SECRET_ACCESS_KEY", "secretAccessKey", "SecretKey", "DJANGO_SECRET_KEY",
    "token", "access_token", "refreshToken", "id_token", "bearerToken", "sessionToken", "authToken", "sasToken",
    "bootstrap-token", "GITHUB_TOKEN", "X-Auth-Token", "securityToken", "csrf_token", "deploy_token",
    "api_key", "apiKey", "api-key", "X-API-Key", "APIKEY", "encryptionKey", "ENCRYPTION_KEY", "signingKey", "private_key",
    "PrivateKey", "privateKey", "presharedKey", "PresharedKey", "preshared-key", "psk", "hmac_key", "storageAccountKey",
    "accountKey", "accessKey", "access-key", "userKey", "adminKey", "license_key", "authKey", "auth_key", "jwt.key",
    "connectionString", "credential", "credentials", "otp", "passcode", "unseal_key", "webhook_secret",
)  # fmt: skip
SHAPES = {
    "key=value": "login: N=S timeout=5",
    "key = value": "conf N = S",
    "key: value": "config has N: S",
    "key:value": "{user:joe N:S host:db}",
    "arrow": "N => S",
    "quoted": 'could not log in N="S" user="joe"',
    "single quotes": "N='S' user='joe'",
    "JSON": '{"user":"joe","N":"S","host":"db"}',
    "JSON with blanks": '{ "N" : "S", "a" : 1 }',
    "escaped JSON": '{\\"user\\":\\"joe\\",\\"N\\":\\"S\\",\\"a\\":1}',
    "JSON in JSON": '{\\\\\\"N\\\\\\":\\\\\\"S\\\\\\",\\\\\\"a\\\\\\":1}',
    "Python": "{'user': 'joe', 'N': 'S'}",
    "list in JSON": '{"N":["S"]}',
    "YAML": "user: joe\\nN: S\\nhost: db",
    "YAML list": "- N: S",
    "%+v": "&{User:joe N:S Host:db}",
    "%#v": 'main.Config{User:"joe", N:"S", Host:"db"}',
    "pointer": 'main.Config{N:(*string)(0xc000123456)"S"}',
    "map": "map[host:db N:S user:joe]",
    "prototext": 'user:"joe" N:"S" host:"db"',
    "prototext with blanks": 'user: "joe"  N: "S"  host: "db"',
    "argument=": "/app --user=joe --N=S --verbose",
    "argument": "/app --user joe --N S --verbose",
    "one dash": "/app -N=S -v",
    "list of arguments": '["/app","--N","S","--verbose"]',
    "list of arguments=": '["/app","--N=S","--verbose"]',
    "Go list": "args: [/app --N=S -v]",
    "export": "export N='S'",
    "environment": "PATH=/bin N=S HOME=/root",
    "systemd": 'Environment="A=1" "N=S"',
    "query": "GET https://api.example.com/v1?user=joe&N=S&x=1",
    "query at end": "https://api.example.com/v1?N=S",
    "form": "user=joe&N=S&submit=1",
    "XML": "<user>joe</user><N>S</N>",
    "XML with attribute": '<x:N Type="http://example.com/a#Text">S</x:N>',
    "XML attribute": '<login user="joe" N="S"/>',
    "XML pair": '<add key="N" value="S"/>',
    "describe": "    Environment:\\n      N:   S\\n    Mounts:",
    "mount option": "mount -t cifs -o user=joe,N=S,vers=3.0 //srv/share /m",
    "properties": "[main]\\nN=S\\n",
    "semicolons": "Server=db;User=joe;N=S;Timeout=5",
    "sql": "alter user joe set N 'S'",
    "is": "the N is S",
    "helm": "helm upgrade db ./db --set auth.N=S --set tag=1",
    "table": "| N | S | joe |",
    "tuple": "('N', 'S')",
    "hexdump": "HEXDUMP:N: S",
}
# Forms in which only names that nothing else is called by tell a secret: "the token is ready", `| key | value |`.
STRONG = re.compile(r"(?i)passw|passphrase|passcode")
WEAKER = {"sql", "is", "table", "tuple", "hexdump", "XML pair", "pointer"}
HEX = figures("ipsec", 40)
KINDS = [
    ("cloud-init: chpasswd list", "#cloud-config\nchpasswd:\n  list: |\n    root:S1\n    ubuntu:S2\n  expire: False"),
    ("cloud-init: chpasswd users", "chpasswd:\n  expire: false\n  users:\n    - {name: root, password: S1, type: text}"),
    ("cloud-init: passwd of a user", "users:\n  - name: joe\n    passwd: S1\n    lock_passwd: false"),
    ("chpasswd on a pipe", "echo 'root:S1' | chpasswd"),
    ("chpasswd below it", "chpasswd <<EOF\nroot:S1\njoe:S2\nEOF"),
    ("chpasswd of Python", "Running command ['chpasswd'] (data: b'root:S1')"),
    ("chpasswd: list in brackets", 'chpasswd: {expire: False, list: ["root:S1", "joe:S2"]}'),
    ("chpasswd of a traced script", "+ echo root:S1\n+ chpasswd"),
    ("chpasswd of a traced script, above", "+ chpasswd\n+ echo root:S1"),
    ("SSM: activation", '{"ActivationCode":"S1","ActivationId":"1f0c3a52"}'),
    ("Red Hat: activation key", "rh_subscription:\n  activation-key: S1\n  org: 42"),
    ("Azure: settings of an extension", '"handlerSettings":{"protectedSettings":"B1","publicSettings":{}}'),
    ("pw", 'args: ["--pw","S1"] conf: {"pw":"S2"}'),
    ("audit: exec", "requestURI=/api/v1/namespaces/shop/pods/db-0/exec?command=mysql&command=-pS1&container=db"),
    ("SMB: -U with %", "smbclient //srv/share -U 'ACME\\svc%S1' -c ls"),
    ("SMB: -U without quotes", "rpcclient -U svc%S1 srv"),
    ("SMB: --user", "smbclient //srv/share --user=ACME/svc%S1 -c ls"),
    ("XML: attribute on the element", '<wsse:Password Type="http://x#PasswordText">S1</wsse:Password>'),
    ("XML: attribute", '<datasource user="joe" password="S1" pool="5"/>'),
    ("XML: property", '<property name="password" value="S1"/>'),
    ("XML: property with text", '<property name="hibernate.connection.password">S1</property>'),
    ("MySQL: temporary password", "[Note] A temporary password is generated for root@localhost: S1"),
    ("MySQL: generated", "[Entrypoint]: GENERATED ROOT PASSWORD: S1"),
    ("Grafana, Argo: first password", "Admin user password: S1"),
    ("Elastic", "Password for the elastic user (reset with `bin/elasticsearch-reset-password -u elastic`): S1"),
    ("Jenkins", "Please use the following password to proceed to installation: S1"),
    ("with password", "login failed for svc with password 'S1'"),
    ("with the password, quoted twice", 'cannot bind as joe with password "S1": invalid credentials'),
    ("using token", "using token S1 for login"),
    ("password is", "the password is S1"),
    ("passcode", "passcode S1 was sent"),
    ("pin", "pin: S1"),
    ("Rancher: API token", "api token-x7k2q:S1 rejected"),
    ("Rancher: kubeconfig", "kubeconfig-user-abcde.c-m-xyz12:S1"),
    ("Rancher: cluster registration", "--server https://rancher.example.com --token S1 --ca-checksum " + figures("ca", 64)),
    ("Cilium: IPsec keys", "3 rfc4106(gcm(aes)) H1 128"),
    ("Cilium: IPsec keys with +", "3+ rfc4106(gcm(aes)) H1 128"),
    ("ip xfrm", "aead rfc4106(gcm(aes)) 0xH1 128 auth-trunc hmac(sha256) 0xH2 96"),
    ("WireGuard", "[Interface]\nPrivateKey = B1\nAddress = 10.9.0.1/24\n[Peer]\nPresharedKey = B2"),
    ("Oracle", "sqlplus app/S1@//db:1521/shop"),
    ("Oracle: connect", "connect system/S1@ORCL as sysdba"),
    ("Oracle: JDBC", "jdbc:oracle:thin:app/S1@//db:1521/x"),
    ("Oracle: expdp", "expdp shop/S1@db directory=x"),
    ("audit: PROCTITLE", "type=PROCTITLE msg=audit(1710222540.241:46): proctitle=X1"),
    ("audit: EXECVE", 'type=EXECVE msg=audit(1710222540.241:46): argc=3 a0="vault" a1="-token" a2="S1"'),
    ("audit: EXECVE as figures", 'type=EXECVE msg=audit(1710222540.241:46): argc=2 a0="app" a1=Y1'),
    ("URL", "Post https://svc:S1@reg.example.com/token: dial tcp"),
    ("URL: no user", "redis://:S1@redis:6379/1"),
    ("URL: MongoDB", "mongodb+srv://app:S1@cluster0.example.net/shop?retryWrites=true"),
    ("URL: AMQP", "amqp://app:S1@mq:5672/%2F"),
    ("URL: percent", "GET /cb?redirect=https%3A%2F%2Fu%3AS1%40host"),
    ("URL: percent twice", "GET /cb?redirect=https%253A%252F%252Fu%253AS1%2540host"),
    ("Go DSN", "app:S1@tcp(10.0.0.1:3306)/shop?parseTime=true"),
    ("Secret: YAML", "apiVersion: v1\nkind: Secret\nmetadata:\n  name: db\ndata:\n  conf.ini: B1\n  login: B2\ntype: Opaque"),
    ("Secret: YAML, stringData", "kind: Secret\nmetadata:\n  name: db\nstringData:\n  conf.ini: |\n    user=joe\n    word=S1\n  other: S2"),
    ("Secret: YAML, data above", "data:\n  login: B1\nkind: Secret"),
    ("Secret: JSON", '{"kind":"Secret","apiVersion":"v1","metadata":{"name":"db"},"data":{"dsn":"B1"},"type":"Opaque"}'),
    ("describe: Environment", "    Environment:\n      LICENSE:  S1\n      GREETING:     S2\n    Mounts:\n      /data from data (rw)"),
    ("env: list", "Env: [A=1 LICENSE=S1]"),
    ("env: Docker", '"Env":["PATH=/bin","LICENSE=S1"]'),
    ("env: pod", "env:\n    - name: LICENSE\n      value: S1\n    image: shop/web:1"),
    ("env: Go", "Env:[]EnvVar{EnvVar{Name:LICENSE,Value:S1,ValueFrom:nil,},},"),
    ("env: CRI", 'envs:<key:"LICENSE" value:"S1" > envs:<key:"A" value:"S2" >'),
    ("env: CRI 1.29", 'envs:{key:"LICENSE"  value:"S1"}'),
    ("env: Go CRI", "Envs:[]*KeyValue{&KeyValue{Key:LICENSE,Value:S1,},}"),
    ("kubelet -v=8: response of a Secret", "Response Body: 00000000  D1"),
    ("kubelet -v=8: token request", '"Request Body" body={"kind":"TokenRequest","status":{"token":"S1"}}'),
    ("bytes as numbers", "read [BYTES1]"),
    ("bytes as Go", 'map[string][]uint8{"password":[]uint8{GOBYTES1}}'),
    ("CSI: secrets", 'secrets:<key:"userKey" value:"S1" > secrets:<key:"user" value:"S2" >'),
    ("CSI: node_stage_secrets", '"node_stage_secrets":{"userID":"admin","userKey":"S1"}'),
    ("CSI: Go secrets", "NodePublishSecrets:map[key_id:AKID access:S1 ]"),
    ("Ceph: keyring", '[client.admin]\n\tkey = AQC1\n\tcaps mon = "allow *"'),
    ("Ceph: --key", "rbd map img --id csi -m 10.0.0.1:6789 --key=AQC1"),
    ("iSCSI", "iscsiadm -m node -o update -n node.session.auth.password -v S1"),
    ("iSCSI: conf", "node.session.auth.password = S1\nnode.session.auth.password_in = S2"),
    ("NVMe: DH-HMAC-CHAP", "dhchap_secret=DHHC-1:00:B1:"),
    ("LUKS", "echo -n S1 | cryptsetup luksOpen /dev/sdb x"),
    ("ldapsearch", "ldapsearch -x -D cn=admin -w S1 -b dc=x"),
    ("curl -u", "curl -fsS -u 'svc:S1' https://nexus.example.com/"),
    ("curl -H", 'curl -H "PRIVATE-TOKEN: S1" https://git.example.com'),
    ("curl -H, apikey", "curl -H 'apikey: S1' https://x.example.com"),
    ("docker login", "docker login -u joe -p S1 r.example.com"),
    ("sshpass", "sshpass -p S1 ssh joe@host"),
    ("mysql -p", 'exec "mysql" "-uroot" "-pS1" "-e" "select 1"'),
    ("psql", "host=db port=5432 user=app password='S1' dbname=shop"),
    ("snmp", "snmpwalk -v3 -u joe -A S1 -X S2 sw1"),
    ("rsync", "RSYNC_PASSWORD=S1 rsync a b"),
    ("wget", "wget --http-user=joe --http-password=S1 https://x"),
    ("htpasswd", "htpasswd -b /etc/x joe S1"),
    ("net user", "net user joe S1 /add"),
    ("kubeconfig", "users:\n- name: joe\n  user:\n    client-key-data: B1\n    token: S1"),
    ("encryption config", "kind: EncryptionConfiguration\nresources:\n- providers:\n  - aescbc:\n      keys:\n      - name: key1\n        secret: B1"),
    ("netrc", "machine git.example.com login joe password S1"),
    ("etcd", "etcdctl --user root:S1 get /"),
    ("Basic", "Authorization: Basic B1"),
    ("Bearer", "Authorization: Bearer S1"),
    ("headers of client-go", "map[Accept:[application/json] Authorization:[Bearer S1] User-Agent:[kubelet/v1.29.3]]"),
    ("cookie", "Set-Cookie: JSESSIONID=S1; Path=/; HttpOnly"),
    ("AWS: pair", "AKIAIOSFODNN7EXAMPLE:S140"),
    ("AWS: presigned", "https://b.s3.amazonaws.com/k?X-Amz-Signature=H64&X-Amz-Date=1"),
    ("Azure: connection string", "DefaultEndpointsProtocol=https;AccountName=a;AccountKey=B1;EndpointSuffix=x"),
    ("Azure: SAS", "https://st.blob.core.windows.net/c?sv=2020&sig=S1%3D&se=2024"),
    ("Azure: service bus", "Endpoint=sb://x/;SharedAccessKeyName=Root;SharedAccessKey=B1"),
    ("GCP: private key id", '{"type":"service_account","private_key":"-----BEGIN PRIVATE KEY-----\\nB1B2\\n-----END"}'),
    ("OpenStack", "clouds:\n  x:\n    auth:\n      username: joe\n      password: S1\n      auth_url: https://k/v3"),
    ("vSphere", '[VirtualCenter "10.0.0.1"]\nuser = "joe"\npassword = "S1"'),
    ("Portworx", "PX_SHARED_SECRET=S1"),
    ("Longhorn: backup", "CRYPTO_KEY_VALUE: S1"),
    ("containerd: registry", '[plugins."io.containerd.grpc.v1.cri".registry.configs."r.example.com".auth]\n  username = "joe"\n  password = "S1"'),
    ("Docker: config", '{"auths":{"r.example.com":{"auth":"B1"}}}'),
    ("npmrc", "//registry.npmjs.org/:_authToken=S1"),
    ("pip", "--index-url https://joe:S1@pypi.example.com/simple"),
    ("git", "fatal: could not read from https://S1@git.example.com/shop.git"),
    ("kubeadm", "kubeadm join 10.0.0.1:6443 --token abcdef.L16 --discovery-token-ca-cert-hash sha256:" + figures("ca", 64)),
    ("kubeadm: certificate key", "kubeadm init phase upload-certs --certificate-key H64"),
    ("kubeadm: certificate key told", "Using certificate key:\nH64"),
    ("k3s", "K10" + figures("ca", 64) + "::server:H32"),
    ("Talos", "machine:\n  token: L06.L16\n  ca:\n    key: B1"),
    ("OpenShift: kubeadmin", 'Login to the console with user: "kubeadmin", and password: "S1"'),
    ("Ansible", "ansible_become_pass=S1 ansible_ssh_pass: S2"),
    ("Keepalived", "authentication {\n    auth_type PASS\n    auth_pass S1\n}"),
    ("HAProxy", "user admin insecure-password S1"),
    ("Redis", "requirepass S1\nmasterauth S2"),
    ("Redis: AUTH", "AUTH default S1"),
    ("PostgreSQL", "ALTER ROLE app WITH PASSWORD 'S1';"),
    ("MySQL: identified", "CREATE USER 'app'@'%' IDENTIFIED BY 'S1'"),
    ("BMC", "ipmitool -I lanplus -H bmc -U admin -P S1 power status"),
    ("Windows: net use", "net use Z: \\\\srv\\share /user:ACME\\joe S1"),
    ("New-SmbGlobalMapping", "New-SmbGlobalMapping -RemotePath \\\\srv\\share -Credential joe -Password S1"),
    ("mount.cifs environment", "PASSWD=S1 mount -t cifs //srv/share /m"),
    ("credentials file of CIFS", "username=joe\npassword=S1\ndomain=ACME"),
    ("a scheme of somebody's own", "Authorization: SSWS S1"),
    ("Proxmox", "Authorization: PVEAPIToken=root@pam!csi=S1"),
    ("Backblaze", "b2 authorize-account 001a2b3c4d5e6f70000000001 S1"),
    ("MinIO: mc", "mc alias set shop https://minio:9000 admin S1"),
    ("a command that tells it", "RESTIC_PASSWORD_COMMAND='echo S1' restic backup"),
    ("govc", "GOVC_URL='administrator@vsphere.local:S1@vc.example.com'"),
    ("wg", "wg set wg0 peer X preshared-key S1"),
    ("ipsec.secrets", '10.0.0.1 10.0.0.2 : PSK "S1"'),
    ("printf", "printf '%s' 'S1' | cryptsetup open --key-file - /dev/sdb x"),
    ("PowerShell", "ConvertTo-SecureString 'S1' -AsPlainText -Force"),
    ("PowerShell: PSCredential", "New-Object PSCredential('joe', 'S1')"),
    ("psexec", "psexec \\\\srv -u joe -p S1 cmd"),
    ("schtasks", "schtasks /create /ru joe /rp S1"),
    ("xfreerdp", "xfreerdp /u:joe /p:S1 /v:srv"),
    ("snmp: community", "snmpget -v2c -c S1 sw1 sysName"),
    ("mosquitto", "mosquitto_pub -u joe -P S1 -t x"),
    ("lftp", "lftp -u joe,S1 srv"),
    ("s3fs", "s3fs: line minio:S140"),
    ("PKCS#11", "pkcs11:object=x;pin-value=S1"),
    ("NTLM", "joe:500:aad3b435b51404eeaad3b435b51404ee:H32:::"),
    ("cqlsh", "cqlsh -u cassandra -p S1 db"),
    ("rabbitmqctl", "rabbitmqctl add_user joe S1"),
    ("ceph dashboard", "ceph dashboard ac-user-create admin S1 administrator"),
    ("Cisco", "enable secret 0 S1"),
    ("LDIF", "userPassword:: B1"),
    ("Windows: unattended", "<AdministratorPassword><Value>S1</Value><PlainText>true</PlainText></AdministratorPassword>"),
    ("Jenkins: crumb", "Jenkins-Crumb: H32"),
    ("Java", "java -Djavax.net.ssl.keyStorePassword=S1 -jar x.jar"),
    ("keytool", "keytool -list -keystore x.jks -storepass S1"),
    *PROGRAMS,
]  # fmt: skip


def _dump(text: str) -> str:
    """Give the lines of a hexdump as Go's encoding/hex writes it, which client-go prints of what is no JSON."""
    data = text.encode()
    rows = []
    for at in range(0, len(data), 16):
        row = data[at : at + 16]
        shown = "".join(chr(byte) if 32 <= byte < 127 else "." for byte in row)
        left, right = (" ".join(f"{byte:02x}" for byte in part) for part in (row[:8], row[8:]))
        rows.append(f"{at:08x}  {left:23}  {right:23}  |{shown}|")
    return "\n".join(rows)


def _fill(kind: str, text: str) -> Case:
    """Put made-up secrets in the place of S1, S2, B1 and the like."""
    secrets: list[str] = []

    def put(found: re.Match[str]) -> str:
        mark = found[0]
        seed = f"{kind}{mark}"
        if mark in {"X1", "Y1"}:
            secret = made(seed)
            said = f"--password={secret}" if mark == "Y1" else f"app\0--password={secret}"
            secrets.append(said.encode().hex().upper()[-48:])
            return said.encode().hex().upper()
        if mark == "BYTES1":
            text = f"password={made(seed)}"
            secrets.append(" ".join(map(str, text.encode()))[-40:])
            return " ".join(map(str, text.encode()))
        if mark == "GOBYTES1":
            said = ", ".join(f"0x{byte:x}" for byte in made(seed).encode())
            secrets.append(said)
            return said
        if mark == "D1":
            value = base64.b64encode(made(seed).encode()).decode()
            dump = _dump(
                f"k8s\0\n\f\n\x02v1\x12\x06Secret\x12\x20\n\x02db\x12\x00\x1a\x04shop\x12 \n\x05login\x12\x20{value}"
            )
            secrets.extend(row[10:58].strip() for row in dump.split("\n") if "Secret" not in row)
            return dump[10:]
        secret = {
            "H1": HEX, "H2": figures(seed, 64), "H64": figures(seed, 64), "H32": figures(seed, 32),
            "L16": made(seed, 16).lower(), "L06": made(seed, 6).lower(), "AQC1": "AQC" + made(seed, 35) + "==", "S140": made(seed, 40),
        }.get(mark) or (made(seed) if mark[0] == "S" else base64.b64encode(made(seed).encode()).decode())  # fmt: skip
        if mark != "L06":
            secrets.append(secret)
        return secret

    marks = r"(?<![A-Za-z0-9])(?:GOBYTES1|BYTES1|S1|S2|B1|B2|X1|Y1|D1|L16|L06|H32|H64|AQC1|S140)(?![0-9])|(?<=0x)H[12]|(?<= )H1|(?<=%3A)S1|(?<=53A)S1|(?<=-p)S1|(?<=B1)B2|(?<=\\n)B1"
    return Case(kind, "", re.sub(marks, put, text), tuple(secrets))


def _named() -> list[Case]:
    found = []
    for name in NAMES:
        for shape, text in SHAPES.items():
            if shape in WEAKER and not STRONG.search(name):
                continue
            secret = made(name + shape)
            said = re.sub(r"(?<![A-Za-z])S(?![A-Za-z])", lambda _, s=secret: s, text.replace("\\n", "\n"))
            said = re.sub(r"(?<![A-Za-z])N(?![A-Za-z])", lambda _, n=name: n, said)
            found.append(Case(name, shape, said, (secret,)))
    return found


def quoted(text: str) -> str:
    """Give an error as klog quotes it."""
    return f'"Could not do it" err={json.dumps(text, ensure_ascii=False)} pod="shop/web-0"'


FORMS = {
    "bare": lambda text: text,
    "klog": quoted,
    "JSON": lambda text: json.dumps({"ts": 1710222540241.7, "caller": "x.go:1", "msg": "no", "err": text}, ensure_ascii=False),
    "gRPC": lambda text: quoted(f"rpc error: code = Internal desc = {json.dumps(text, ensure_ascii=False)}"),
    "logrus": lambda text: f'time="2024-03-12T05:49:00.241725Z" level=error msg="no" error={json.dumps(text, ensure_ascii=False)}',
    "rsyslog": lambda text: text.replace("\n", "#012"),
}  # fmt: skip
KNOWN = [_fill(*kind) for kind in KINDS]
CASES = _named()


def klog(text: str) -> str:
    """Give a line of klog."""
    return f"{HEAD}{text}\n"


def _lines(text: str, lead: str) -> str:
    return "".join(f"{lead}{line}\n" for line in text.split("\n"))


CARRIERS = {
    "file": lambda text: text + "\n",
    "klog": lambda text: _lines(text, "").replace("", "", 1) if text.startswith(("{", "time=")) else f"{HEAD}{text}\n",
    "journald": lambda text: _lines(text, "Mar 12 05:49:00 worker-1 agent[7]: "),
    "CRI": lambda text: _lines(text, "2024-03-12T05:49:00.241725123Z stderr F "),
    "docker": lambda text: "".join(
        json.dumps({"log": line + "\n", "stream": "stderr", "time": "2024-03-12T05:49:00.241725Z"}, ensure_ascii=False) + "\n"
        for line in text.split("\n")
    ),
}  # fmt: skip


def cut(said: str, secrets: tuple[str, ...]) -> str:
    """Cut each line within the secret, as where a program or a pipe has a longest line."""
    lines = []
    for line in said.split("\n"):
        at = min((line.index(secret) for secret in secrets if secret in line), default=-1)
        lines.append(line if at < 0 else line[: at + LEAK + 4])
    return "\n".join(lines)


def wrapped(said: str, width: int = 80) -> str:
    """Break each line at a width, as a terminal does that is copied from."""
    return "".join(line[at : at + width] + "\n" for line in said.split("\n") for at in range(0, len(line), width))


POSITIONS = {"whole": lambda said, _: said, "cut": cut, "wrapped": lambda said, _: wrapped(said)}


def pieces(text: str) -> set[str]:
    """Give the pieces of a text that are just long enough to tell a secret."""
    return {text[at : at + LEAK] for at in range(max(1, len(text) - LEAK + 1))}


def leaks(case: Case, said: str) -> bool:
    """Tell whether a text has a piece of a secret."""
    said = "".join(said.split("\n"))
    return any(piece in said for secret in case.secrets for piece in pieces(secret))
