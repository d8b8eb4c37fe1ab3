package auth_test

import (
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/base64"
	"encoding/json"
	"net/http"
	"testing"

	"github.com/listwatch/listwatch/e2e/cluster"
	"github.com/listwatch/listwatch/e2e/internal/setup"
)

// authPairRights are a ConfigMap in each namespace by which it is known, and that
// everybody may see them.
var authPairRights = [][2]string{
	{"/api/v1/namespaces", `{"metadata":{"name":"shop"}}`},
	{"/api/v1/namespaces", `{"metadata":{"name":"other"}}`},
	{"/api/v1/namespaces/default/configmaps", `{"metadata":{"name":"of-default"}}`},
	{"/api/v1/namespaces/shop/configmaps", `{"metadata":{"name":"of-shop"}}`},
	{"/api/v1/namespaces/other/configmaps", `{"metadata":{"name":"of-other"}}`},
	{"/apis/rbac.authorization.k8s.io/v1/clusterroles", `{"metadata":{"name":"all"},"rules":[{"apiGroups":[""],"resources":["configmaps"],"verbs":["get","list","watch"]}]}`},
	{"/apis/rbac.authorization.k8s.io/v1/clusterrolebindings", `{"metadata":{"name":"all"},
		"roleRef":{"apiGroup":"rbac.authorization.k8s.io","kind":"ClusterRole","name":"all"},
		"subjects":[{"apiGroup":"rbac.authorization.k8s.io","kind":"Group","name":"system:authenticated"}]}`},
}

// prepare fills the cluster, starts proxies, and gives $NAME its values.
func (k *authPairStage) prepare(t *testing.T) {
	t.Helper()
	c := k.cluster
	for _, r := range authPairRights {
		setup.MustSend(t, c, http.MethodPost, r[0], "application/json", r[1])
	}
	stranger, err := cluster.NewCA("a stranger's CA")
	if err != nil {
		t.Fatal(err)
	}
	inline := base64.StdEncoding.EncodeToString
	v := map[string]string{
		"SERVER": c.URL(), "HOST": c.Addr(), "CA": string(c.CAPEM()), "CA_FILE": c.CAFile(), "CA_DATA": inline(c.CAPEM()),
		"ADMIN": c.Token(), "JANE": c.UserToken(), "STRANGER": string(stranger.PEM()),
	}
	for user, name := range map[string]string{"carol": "CAROL", "dave": "DAVE"} {
		cert, key, err := c.CA().Issue(x509.Certificate{Subject: pkix.Name{CommonName: user, Organization: []string{"team"}},
			ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}})
		if err != nil {
			t.Fatal(err)
		}
		for part, b := range map[string][]byte{name: cert, name + "_KEY": key} {
			quoted, err := json.Marshal(string(b))
			if err != nil {
				t.Fatal(err)
			}
			v[part], v[part+"_DATA"], v[part+"_JSON"] = string(b), inline(b), string(quoted)
		}
	}
	open := &tunnel{server: c.Addr()}
	guarded := &tunnel{server: c.Addr(), user: "porter", password: "p@ss/w:rd"}
	plain, socks := serveTunnel(t, "http", open, nil), serveTunnel(t, "socks5", open, nil)
	v["HTTP_PROXY_URL"], v["HTTP_PROXY_HOST"] = "http://"+plain, plain
	v["HTTPS_PROXY_URL"] = "https://" + serveTunnel(t, "https", open, c.CA())
	v["SOCKS_PROXY_URL"], v["SOCKSH_PROXY_URL"] = "socks5://"+socks, "socks5h://"+socks
	plain, socks = serveTunnel(t, "http", guarded, nil), serveTunnel(t, "socks5", guarded, nil)
	v["HTTP_PROXY_USER"], v["HTTP_PROXY_WRONG"] = "http://porter:p%40ss%2Fw%3Ard@"+plain, "http://porter:wrong@"+plain
	v["SOCKS_PROXY_USER"], v["SOCKS_PROXY_WRONG"] = "socks5://porter:p%40ss%2Fw%3Ard@"+socks, "socks5://porter:wrong@"+socks
	k.values = v
}
