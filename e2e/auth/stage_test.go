package auth_test

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/rand"
	"crypto/sha256"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/listwatch/listwatch/e2e/cluster"
	"github.com/listwatch/listwatch/e2e/internal/setup"
)

// authStage is a cluster with users who may do different things, and a kubeconfig
// with a context for each way to come to it.
type authStage struct {
	cluster *cluster.Cluster
	dir     string
	config  string
	values  map[string]string // of $NAME in commands
	secrets map[string]string // by what they are
	places  [][2]string       // what is replaced in golden files
	users   strings.Builder
	context strings.Builder
}

const authRights = `
POST /api/v1/namespaces {"metadata":{"name":"shop"}}
POST /api/v1/namespaces {"metadata":{"name":"elsewhere"}}
POST /api/v1/namespaces/shop/serviceaccounts {"metadata":{"name":"watcher"}}
POST /api/v1/namespaces/shop/serviceaccounts {"metadata":{"name":"passing"}}
POST /api/v1/namespaces/shop/configmaps {"metadata":{"name":"plain"}}
POST /api/v1/namespaces/shop/secrets {"metadata":{"name":"one"},"stringData":{"key":"the-value-of-a-secret"}}
POST /apis/rbac.authorization.k8s.io/v1/namespaces/shop/roles {"metadata":{"name":"watcher"},"rules":[
	{"apiGroups":[""],"resources":["pods"],"verbs":["get","list","watch"]},
	{"apiGroups":[""],"resources":["configmaps"],"verbs":["get","list"]},
	{"apiGroups":[""],"resources":["services"],"verbs":["watch"]},
	{"apiGroups":[""],"resources":["secrets"],"resourceNames":["one"],"verbs":["get","list","watch"]}]}
POST /apis/rbac.authorization.k8s.io/v1/namespaces/shop/rolebindings {"metadata":{"name":"watcher"},
	"roleRef":{"apiGroup":"rbac.authorization.k8s.io","kind":"Role","name":"watcher"},
	"subjects":[{"kind":"ServiceAccount","namespace":"shop","name":"watcher"}]}
POST /apis/rbac.authorization.k8s.io/v1/clusterroles {"metadata":{"name":"pods"},"rules":[
	{"apiGroups":[""],"resources":["pods"],"verbs":["get","list","watch"]}]}
POST /apis/rbac.authorization.k8s.io/v1/clusterrolebindings {"metadata":{"name":"pods"},
	"roleRef":{"apiGroup":"rbac.authorization.k8s.io","kind":"ClusterRole","name":"pods"},
	"subjects":[{"apiGroup":"rbac.authorization.k8s.io","kind":"User","name":"carol"}]}
`

func newAuthStage(t *testing.T, c *cluster.Cluster) *authStage {
	t.Helper()
	a := &authStage{cluster: c, dir: t.TempDir(), values: map[string]string{}, secrets: map[string]string{}}
	for request := range strings.SplitSeq(strings.TrimSpace(authRights), "\nPOST ") {
		path, body, _ := strings.Cut(strings.TrimPrefix(request, "POST "), " ")
		setup.MustSend(t, c, http.MethodPost, path, "application/json", body)
	}
	setup.MustSend(t, c, http.MethodPost, "/api/v1/namespaces/shop/pods", "application/json", setup.Pod("a"))
	setup.MustSend(t, c, http.MethodPost, "/api/v1/namespaces/elsewhere/pods", "application/json", setup.Pod("b"))
	stranger, err := cluster.NewCA("a stranger's CA")
	if err != nil {
		t.Fatal(err)
	}
	a.write(t, "stranger.crt", string(stranger.PEM()))
	carol := pkix.Name{CommonName: "carol", Organization: []string{"team"}}
	a.certificate(t, "certificate", c.CA(), x509.Certificate{Subject: carol, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}})
	a.certificate(t, "certificate-expired", c.CA(), x509.Certificate{Subject: carol, NotAfter: time.Now().Add(-time.Minute)})
	a.certificate(t, "certificate-stranger", stranger, x509.Certificate{Subject: carol})
	a.certificate(t, "certificate-server", c.CA(), x509.Certificate{Subject: carol, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}})
	a.tokens(t)
	a.plugins(t)
	a.user("nobody", "{}")
	a.user("as", "{token: "+c.Token()+", as: system:serviceaccount:shop:watcher, as-groups: [team]}")
	a.user("no-file", "{tokenFile: "+a.dir+"/nowhere}")
	a.user("no-base64", "{client-certificate-data: '%%%', client-key-data: '%%%'}")
	a.user("no-pem", "{client-certificate-data: Z2FyYmFnZQ==, client-key-data: Z2FyYmFnZQ==}")
	for name, settings := range map[string]string{
		"gcp": "{cmd-path: gcloud}", "azure": "{tenant-id: t, access-token: the-token-of-azure}",
		"oidc": "{idp-issuer-url: https://idp.example, client-secret: the-secret-of-oidc, refresh-token: the-refresh-of-oidc}",
	} {
		a.user(name, "{auth-provider: {name: "+name+", config: "+settings+"}}")
	}
	plain := httptest.NewServer(http.NotFoundHandler())
	t.Cleanup(plain.Close)
	a.values["DIR"], a.values["REFUSING"] = a.dir, setup.Refusing(t, c)
	a.values["PLAIN"] = strings.Replace(plain.URL, "http://", "https://", 1)
	for name, value := range map[string]string{"a user's token": c.UserToken(), "the admin's token": c.Token(), "Secret data": "the-value-of-a-secret",
		"token of azure": "the-token-of-azure", "secret of oidc": "the-secret-of-oidc", "refresh token of oidc": "the-refresh-of-oidc"} {
		a.secrets[name] = value
	}
	a.writeConfig(t)
	a.places = [][2]string{{c.URL(), "SERVER"}, {c.Addr(), "HOST"}, {a.values["REFUSING"], "REFUSING"}, {strings.TrimPrefix(a.values["REFUSING"], "https://"), "REFUSING-HOST"},
		{a.values["PLAIN"], "PLAIN"}, {strings.TrimPrefix(a.values["PLAIN"], "https://"), "PLAIN-HOST"}, {a.dir, "DIR"}}
	return a
}

// user adds a user of the kubeconfig, and a context for him.
func (a *authStage) user(name, user string) {
	fmt.Fprintf(&a.users, "- {name: %s, user: %s}\n", name, user)
	fmt.Fprintf(&a.context, "- {name: %s, context: {cluster: e2e, user: %s, namespace: shop}}\n", name, name)
}

func (a *authStage) writeConfig(t *testing.T) {
	t.Helper()
	a.write(t, "ca.crt", string(a.cluster.CAPEM()))
	a.config = a.write(t, "config", "apiVersion: v1\nkind: Config\nclusters:\n- {name: e2e, cluster: {server: '"+a.cluster.URL()+"', certificate-authority: ca.crt}}\n"+
		"users:\n"+a.users.String()+"contexts:\n"+a.context.String())
}

func (a *authStage) write(t *testing.T, name, text string) string {
	t.Helper()
	path := filepath.Join(a.dir, name)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// certificate adds a user with a client certificate.
func (a *authStage) certificate(t *testing.T, name string, ca *cluster.CA, template x509.Certificate) {
	t.Helper()
	cert, key, err := ca.Issue(template)
	if err != nil {
		t.Fatal(err)
	}
	a.write(t, name+".crt", string(cert))
	a.write(t, name+".key", string(key))
	block, _ := pem.Decode(key)
	a.secrets["key of "+name] = base64.StdEncoding.EncodeToString(block.Bytes)
	a.user(name, "{client-certificate: "+name+".crt, client-key: "+name+".key}")
}

// tokens adds users with tokens of service accounts.
func (a *authStage) tokens(t *testing.T) {
	t.Helper()
	good, passing := a.bound(t, "watcher"), a.bound(t, "passing")
	setup.MustSend(t, a.cluster, http.MethodDelete, "/api/v1/namespaces/shop/serviceaccounts/passing", "application/json", "")
	a.untilUnknown(t, passing)
	expired := a.expired(t, good)
	wrong := "the-token-of-nobody"
	a.write(t, "token", good+"\n")
	a.user("admin", "{token: "+a.cluster.Token()+"}")
	a.user("account", "{token: "+good+"}")
	a.user("account-file", "{tokenFile: token}")
	a.user("account-deleted", "{token: "+passing+"}")
	a.user("account-expired", "{token: "+expired+"}")
	a.user("wrong", "{token: "+wrong+"}")
	a.values["WRONG"] = wrong
	for name, token := range map[string]string{"good": good, "deleted": passing, "expired": expired, "wrong": wrong} {
		a.secrets[name+" token"] = token
	}
}

// bound asks for a token, as kubelet does.
func (a *authStage) bound(t *testing.T, account string) string {
	t.Helper()
	var got struct {
		Status struct {
			Token string `json:"token"`
		} `json:"status"`
	}
	b := setup.MustSend(t, a.cluster, http.MethodPost, "/api/v1/namespaces/shop/serviceaccounts/"+account+"/token", "application/json", `{"spec":{"expirationSeconds":600}}`)
	if err := json.Unmarshal(b, &got); err != nil {
		t.Fatal(err)
	}
	return got.Status.Token
}

// untilUnknown waits until the apiserver has noticed that an account is gone.
func (a *authStage) untilUnknown(t *testing.T, token string) {
	t.Helper()
	for end := time.Now().Add(setup.Patience); time.Now().Before(end); {
		b := setup.MustSend(t, a.cluster, http.MethodPost, "/apis/authentication.k8s.io/v1/tokenreviews", "application/json", `{"spec":{"token":"`+token+`"}}`)
		if !bytes.Contains(b, []byte(`"authenticated":true`)) {
			return
		}
	}
	t.Fatal("a deleted service account is still known")
}

// expired is token as it would be an hour after its end, signed by the cluster's key.
func (a *authStage) expired(t *testing.T, token string) string {
	t.Helper()
	parts := strings.Split(token, ".")
	b, err := base64.RawURLEncoding.DecodeString(parts[1])
	if err != nil {
		t.Fatal(err)
	}
	var claims map[string]any
	if err := json.Unmarshal(b, &claims); err != nil {
		t.Fatal(err)
	}
	end := time.Now().Add(-time.Hour).Unix()
	claims["exp"], claims["iat"], claims["nbf"] = end, end-600, end-600
	if b, err = json.Marshal(claims); err != nil {
		t.Fatal(err)
	}
	signed := parts[0] + "." + base64.RawURLEncoding.EncodeToString(b)
	keyPEM, err := os.ReadFile(filepath.Join(a.cluster.Dir(), "serving.key"))
	if err != nil {
		t.Fatal(err)
	}
	block, _ := pem.Decode(keyPEM)
	key, err := x509.ParseECPrivateKey(block.Bytes)
	if err != nil {
		t.Fatal(err)
	}
	sum := sha256.Sum256([]byte(signed))
	r, s, err := ecdsa.Sign(rand.Reader, key, sum[:])
	if err != nil {
		t.Fatal(err)
	}
	signature := make([]byte, 64)
	r.FillBytes(signature[:32])
	s.FillBytes(signature[32:])
	return signed + "." + base64.RawURLEncoding.EncodeToString(signature)
}

// plugins adds users whose credentials come from commands.
func (a *authStage) plugins(t *testing.T) {
	t.Helper()
	const answer = `{"kind":"ExecCredential","apiVersion":"client.authentication.k8s.io/v1","status":{"token":"%s"}}`
	for name, body := range map[string]string{
		"plugin":         "cat <<END\n" + fmt.Sprintf(answer, "$(cat \"$TOKEN_FILE\")") + "\nEND",
		"plugin-failing": "echo 'the plugin says why' >&2\necho the-output-of-a-plugin\nexit 3",
		"plugin-garbage": "echo the-output-of-a-plugin",
		"plugin-wrong":   "echo '" + fmt.Sprintf(answer, "the-output-of-a-plugin") + "'",
	} {
		path := a.write(t, name+".sh", "#!/bin/sh\n"+body+"\n")
		if err := os.Chmod(path, 0o700); err != nil {
			t.Fatal(err)
		}
		a.plugin(name, "./"+name+".sh")
	}
	a.plugin("plugin-missing", "no-such-plugin")
	a.secrets["plugin's output"], a.secrets["plugin's argument"], a.secrets["plugin's environment"] = "the-output-of-a-plugin", "the-argument-of-a-plugin", "the-environment-of-a-plugin"
}

func (a *authStage) plugin(name, command string) {
	a.user(name, "{exec: {apiVersion: client.authentication.k8s.io/v1, interactiveMode: Never, command: "+command+", args: [the-argument-of-a-plugin], "+
		"installHint: get it from example.com, env: [{name: TOKEN_FILE, value: "+a.dir+"/token}, {name: SECRET, value: the-environment-of-a-plugin}]}}")
}

// forms are the ways in which a secret could stand in a text.
func forms(secret string) []string {
	return []string{secret, base64.StdEncoding.EncodeToString([]byte(secret)), base64.RawURLEncoding.EncodeToString([]byte(secret)), url.QueryEscape(secret)}
}
