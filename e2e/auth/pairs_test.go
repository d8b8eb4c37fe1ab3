package auth_test

import "strings"

// one is a kubeconfig with a cluster c, a user u and a context x of both.
func one(cluster, user, context string) string {
	return "apiVersion: v1\nkind: Config\ncurrent-context: x\nclusters:\n- name: c\n  cluster: {" + cluster + "}\n" +
		"users:\n- name: u\n  user: {" + user + "}\ncontexts:\n- name: x\n  context: {cluster: c, user: u" + context + "}\n"
}

const (
	inline  = "server: $SERVER, certificate-authority-data: $CA_DATA"
	jane    = "token: $JANE"
	carol   = "client-certificate-data: $CAROL_DATA, client-key-data: $CAROL_KEY_DATA"
	answer  = `echo "{\"kind\":\"ExecCredential\",\"apiVersion\":\"client.authentication.k8s.io/VERSION\",\"status\":{STATUS}}"`
	tokened = `\"token\":\"$JANE\"`
)

func execUser(more string) string {
	return "exec: {command: ./plugin, " + more + "}"
}

// script is a plugin that speaks version and answers status.
func script(version, status string) string {
	return "#!/bin/sh\n" + strings.NewReplacer("VERSION", version, "STATUS", status).Replace(answer) + "\n"
}

func config(text string) map[string]string { return map[string]string{"home/.kube/config": text} }

func with(files map[string]string, name, text string) map[string]string {
	files[name] = text
	return files
}

const v1never = "apiVersion: client.authentication.k8s.io/v1, interactiveMode: Never"

var authPairs = []authPair{
	{name: "inline data", user: "jane", files: config(one(inline, jane, ""))},
	{name: "nothing at all"},
	{name: "server alone", args: []string{"--server", "$SERVER"}},
	{name: "server and insecure", user: "jane", args: []string{"--server", "$SERVER", "--insecure-skip-tls-verify", "--token", "$JANE"}},
	{name: "server and CA and token", user: "jane", args: []string{"--server", "$SERVER", "--certificate-authority", "$CA_FILE", "--token", "$JANE"}},
	{name: "server without scheme", args: []string{"--server", "$HOST", "--token", "$JANE", "--certificate-authority", "$CA_FILE"}},
	{name: "server with a path", user: "jane", files: config(one("server: $SERVER/, certificate-authority-data: $CA_DATA", jane, ""))},
	{name: "server flag keeps CA and user of the context", user: "jane", files: config(one("server: https://127.0.0.1:1, certificate-authority-data: $CA_DATA", jane, "")), args: []string{"--server", "$SERVER"}},
	{name: "server flag and tls-server-name of the file", user: "jane", files: config(one("server: https://127.0.0.1:1, tls-server-name: nowhere.example, certificate-authority-data: $CA_DATA", jane, "")), args: []string{"--server", "$SERVER"}},
	{name: "merged, conflicting names", user: "jane", namespace: "shop", env: []string{"KUBECONFIG=$DIR/a:$DIR/b"}, files: map[string]string{
		"a": one("server: $SERVER, certificate-authority-data: $CA_DATA", jane, ", namespace: shop"),
		"b": one("server: https://127.0.0.1:1", "token: nonsense", ", namespace: other"),
	}},
	{name: "merged, first has no current-context", user: "jane", namespace: "other", env: []string{"KUBECONFIG=$DIR/a:$DIR/b"}, files: map[string]string{
		"a": "clusters: [{name: c, cluster: {" + inline + "}}]\n",
		"b": one("server: https://127.0.0.1:1", jane, ", namespace: other"),
	}},
	{name: "merged, half an entry in each", env: []string{"KUBECONFIG=$DIR/a:$DIR/b"}, files: map[string]string{
		"a": "clusters: [{name: c, cluster: {server: $SERVER}}]\nusers: [{name: u, user: {}}]\n",
		"b": one(inline, jane, ""),
	}},
	{name: "merged, relative paths", user: "carol", namespace: "other", env: []string{"KUBECONFIG=$DIR/a/config:$DIR/b/config"}, files: map[string]string{
		"a/config": "clusters: [{name: c, cluster: {server: $SERVER, certificate-authority: ca.crt}}]\n",
		"b/config": one("server: https://127.0.0.1:1", "client-certificate: ../keys/carol.crt, client-key: ../keys/carol.key", ", namespace: other"),
		"a/ca.crt": "$CA", "keys/carol.crt": "$CAROL", "keys/carol.key": "$CAROL_KEY",
	}},
	{name: "merged, relative names of files", user: "jane", namespace: "other", env: []string{"KUBECONFIG=a/config:b/config"}, files: map[string]string{
		"a/config": "clusters: [{name: c, cluster: {server: $SERVER, certificate-authority: ca.crt}}]\n",
		"b/config": one("server: https://127.0.0.1:1", "tokenFile: token", ", namespace: other"),
		"a/ca.crt": "$CA", "b/token": "$JANE\n",
	}},
	{name: "list with empty entries and missing files", user: "jane", env: []string{"KUBECONFIG=:$DIR/none::$DIR/a:"}, files: map[string]string{"a": one(inline, jane, "")}},
	{name: "KUBECONFIG outweighs home", env: []string{"KUBECONFIG=$DIR/none"}, files: config(one(inline, jane, ""))},
	{name: "KUBECONFIG of separators only", env: []string{"KUBECONFIG=::"}, files: config(one(inline, jane, ""))},
	{name: "empty KUBECONFIG", user: "jane", env: []string{"KUBECONFIG="}, files: config(one(inline, jane, ""))},
	{name: "a broken file in a list", env: []string{"KUBECONFIG=$DIR/a:$DIR/b"}, files: map[string]string{"a": one(inline, jane, ""), "b": "clusters: ["}},
	{name: "an empty file in a list", user: "jane", env: []string{"KUBECONFIG=$DIR/a:$DIR/b"}, files: map[string]string{"a": "", "b": one(inline, jane, "")}},
	{name: "kubeconfig on stdin", user: "jane", namespace: "shop", args: []string{"--kubeconfig", "/dev/stdin"}, stdin: one(inline, jane, ", namespace: shop")},
	{name: "missing current-context", files: config(strings.Replace(one(inline, jane, ""), "current-context: x", "", 1))},
	{name: "missing current-context with context flag", user: "jane", files: config(strings.Replace(one(inline, jane, ""), "current-context: x", "", 1)), args: []string{"--context", "x"}},
	{name: "missing current-context with cluster and user flags", user: "jane", files: config(strings.Replace(one(inline, jane, ""), "current-context: x", "", 1)), args: []string{"--cluster", "c", "--user", "u"}},
	{name: "current-context that is not there", files: config(strings.Replace(one(inline, jane, ""), "current-context: x", "current-context: z", 1))},
	{name: "context that is not there", files: config(one(inline, jane, "")), args: []string{"--context", "z"}},
	{name: "context of an unknown cluster", files: config(strings.Replace(one(inline, jane, ""), "{cluster: c", "{cluster: d", 1))},
	{name: "context of an unknown cluster, and server flag", user: "jane", files: config(strings.Replace(one(inline, jane, ""), "{cluster: c", "{cluster: d", 1)), args: []string{"--server", "$SERVER", "--certificate-authority", "$CA_FILE"}},
	{name: "context of an unknown user 2", files: config(strings.Replace(one(inline, jane, ""), "user: u}", "user: v}", 1))},
	{name: "context of an unknown user, and token flag", user: "jane", files: config(strings.Replace(one(inline, jane, ""), "user: u}", "user: v}", 1)), args: []string{"--token", "$JANE"}},
	{name: "context without a user", files: config(strings.Replace(one(inline, jane, ""), ", user: u}", "}", 1))},
	{name: "cluster, user and context flags", user: "jane", namespace: "other", args: []string{"--context", "z", "--cluster", "c2", "--user", "u2"}, files: config(`
current-context: x
clusters: [{name: c, cluster: {server: https://127.0.0.1:1}}, {name: c2, cluster: {` + inline + `}}]
users: [{name: u, user: {token: nonsense}}, {name: u2, user: {` + jane + `}}]
contexts: [{name: x, context: {cluster: c, user: u}}, {name: z, context: {cluster: c, user: u, namespace: other}}]
`)},
	{name: "inline CA and CA file", user: "jane", differs: "data and a file of the same are both given", files: with(config(one("server: $SERVER, certificate-authority-data: $CA_DATA, certificate-authority: stranger.crt", jane, "")), "home/.kube/stranger.crt", "$STRANGER")},
	{name: "CA that is not PEM", files: config(one("server: $SERVER, certificate-authority-data: Z2FyYmFnZQ==", jane, ""))},
	{name: "CA file that is not there", files: config(one("server: $SERVER, certificate-authority: none.crt", jane, ""))},
	{name: "CA of a stranger", files: with(config(one("server: $SERVER, certificate-authority: stranger.crt", jane, "")), "home/.kube/stranger.crt", "$STRANGER")},
	{name: "insecure with CA", files: config(one(inline+", insecure-skip-tls-verify: true", jane, ""))},
	{name: "insecure flag over CA of the file", user: "jane", files: config(one(inline, jane, "")), args: []string{"--insecure-skip-tls-verify"}},
	{name: "insecure and CA flags", files: config(one(inline, jane, "")), args: []string{"--insecure-skip-tls-verify", "--certificate-authority", "$CA_FILE"}},
	{name: "CA flag over insecure of the file", user: "jane", files: config(one("server: $SERVER, insecure-skip-tls-verify: true", jane, "")), args: []string{"--certificate-authority", "$CA_FILE"}},
	{name: "insecure as a text", files: config(one("server: $SERVER, insecure-skip-tls-verify: 'true'", jane, ""))},
	{name: "insecure as yes", user: "jane", files: config(one("server: $SERVER, insecure-skip-tls-verify: yes", jane, ""))},
	{name: "tls-server-name", user: "jane", files: config(one(inline+", tls-server-name: localhost", jane, ""))},
	{name: "wrong tls-server-name", files: config(one(inline+", tls-server-name: nowhere.example", jane, ""))},
	{name: "tls-server-name flag", user: "jane", files: config(one(inline+", tls-server-name: nowhere.example", jane, "")), args: []string{"--tls-server-name", "localhost"}},
	{name: "certificate", user: "carol", files: config(one(inline, carol, ""))},
	{name: "certificate without key", files: config(one(inline, "client-certificate-data: $CAROL_DATA", ""))},
	{name: "key without certificate", files: config(one(inline, "client-key-data: $CAROL_KEY_DATA", ""))},
	{name: "key of another", files: config(one(inline, "client-certificate-data: $CAROL_DATA, client-key-data: $DAVE_KEY_DATA", ""))},
	{name: "certificate flags over a token", user: "carol", files: with(with(config(one(inline, jane, "")), "c", "$CAROL"), "k", "$CAROL_KEY"), args: []string{"--client-certificate", "c", "--client-key", "k"}},
	{name: "certificate flag alone", files: with(config(one(inline, jane, "")), "c", "$CAROL"), args: []string{"--client-certificate", "c"}},
	{name: "certificate flag over a certificate, key of the file", user: "carol", files: with(config(one(inline, carol, "")), "c", "$CAROL"), args: []string{"--client-certificate", "c"}},
	{name: "certificate and token", user: "carol", files: config(one(inline, carol+", "+jane, ""))},
	{name: "token flag over a certificate", user: "jane", differs: "a token given as a flag replaces the certificate", kubectl: "carol", files: config(one(inline, carol, "")), args: []string{"--token", "$JANE"}},
	{name: "wrong token flag over a certificate", differs: "a token given as a flag replaces the certificate", kubectl: "carol", files: config(one(inline, carol, "")), args: []string{"--token", "nonsense"}},
	{name: "token flag over a plugin", user: "jane", files: config(one(inline, execUser(v1never), "")), args: []string{"--token", "$JANE"}},
	{name: "token and tokenFile", user: "jane", files: with(config(one(inline, "token: nonsense, tokenFile: token", "")), "home/.kube/token", "$JANE")},
	{name: "token and tokenFile that is not there", user: "jane", files: config(one(inline, jane+", tokenFile: none", ""))},
	{name: "tokenFile that is not there", files: config(one(inline, "tokenFile: none", ""))},
	{name: "tokenFile and token empty", user: "jane", files: with(config(one(inline, jane+", tokenFile: token", "")), "home/.kube/token", "")},
	{name: "tokenFile with lines", user: "jane", files: with(config(one(inline, "tokenFile: token", "")), "home/.kube/token", "\n  $JANE \r\n\n")},
	{name: "token with spaces", files: config(one(inline, "token: ' $JANE '", ""))},
	{name: "token that is wrong", files: config(one(inline, "token: nonsense", ""))},
	{name: "basic and token", files: config(one(inline, jane+", username: u, password: p", ""))},
	{name: "basic", files: config(one(inline, "username: u, password: p", ""))},
	{name: "basic flags over a token", files: config(one(inline, jane, "")), args: []string{"--username", "u", "--password", "p"}},
	{name: "password alone", user: "carol", files: config(one(inline, carol+", password: p", ""))},
	{name: "user with exec and token", user: "jane", files: with(config(one(inline, jane+", "+execUser(v1never), "")), "home/.kube/plugin", "#!/bin/sh\nexit 1\n")},
	{name: "user with exec and certificate", user: "carol", files: with(config(one(inline, carol+", "+execUser(v1never), "")), "home/.kube/plugin", script("v1", tokened))},
	{name: "user with exec and auth-provider", files: with(config(one(inline, "auth-provider: {name: oidc}, "+execUser(v1never), "")), "home/.kube/plugin", script("v1", tokened))},
	{name: "auth-provider gcp", files: config(one(inline, "auth-provider: {name: gcp}", ""))},
	{name: "auth-provider gcp and token", user: "jane", differs: "a token is used, whatever stands beside it", files: config(one(inline, jane+", auth-provider: {name: gcp}", ""))},
	{name: "namespace of the context", user: "jane", namespace: "shop", files: config(one(inline, jane, ", namespace: shop"))},
	{name: "namespace flag", user: "jane", namespace: "other", files: config(one(inline, jane, ", namespace: shop")), args: []string{"-n", "other"}},
	{name: "as", user: "frank", files: config(one(inline, "token: $ADMIN, as: frank", ""))},
	{name: "as with uid, groups and extra", user: "frank", files: config(one(inline, "token: $ADMIN, as: frank, as-uid: '7', as-groups: [a, b], as-user-extra: {example.com/Why: [p, q], plain: [z]}", ""))},
	{name: "as without user", files: config(one(inline, "token: $ADMIN, as-groups: [a]", ""))},
	{name: "as flags", user: "frank", files: config(one(inline, "token: $ADMIN", "")), args: []string{"--as", "frank", "--as-group", "a", "--as-group", "b,c", "--as-uid", "7", "--as-user-extra", "k=v", "--as-user-extra", "L=w"}},
	{name: "as flag over as", user: "grace", differs: "the groups that a file gives to one name are not for another", kubectl: "grace", files: config(one(inline, "token: $ADMIN, as: frank, as-uid: '7', as-groups: [a, b], as-user-extra: {k: [p, q]}", "")), args: []string{"--as", "grace"}},
	{name: "as-group flag over as", user: "frank", files: config(one(inline, "token: $ADMIN, as: frank, as-uid: '7', as-groups: [a, b], as-user-extra: {k: [p, q]}", "")), args: []string{"--as-group", "c"}},
	{name: "as-uid flag over as", user: "frank", files: config(one(inline, "token: $ADMIN, as: frank, as-uid: '7', as-groups: [a, b], as-user-extra: {k: [p, q]}", "")), args: []string{"--as-uid", "8"}},
	{name: "as-user-extra flag over as", user: "frank", files: config(one(inline, "token: $ADMIN, as: frank, as-uid: '7', as-groups: [a, b], as-user-extra: {k: [p, q]}", "")), args: []string{"--as-user-extra", "l=z"}},
	{name: "as-group flag alone", files: config(one(inline, "token: $ADMIN", "")), args: []string{"--as-group", "a"}},
	{name: "as of a service account", user: "system:serviceaccount:shop:watcher", files: config(one(inline, "token: $ADMIN", "")), args: []string{"--as", "system:serviceaccount:shop:watcher"}},
	{name: "as flag with token flag", user: "frank", differs: "a token given as a flag replaces the certificate", files: config(one(inline, carol+", as: frank, as-groups: [a]", "")), args: []string{"--token", "$ADMIN"}},
	{name: "as that may not", files: config(one(inline, jane, "")), args: []string{"--as", "frank"}},
	{name: "as anonymous", files: config(one(inline, "token: $ADMIN", "")), args: []string{"--as", "system:anonymous"}},
	{name: "BOM", user: "jane", files: config("\ufeff" + one(inline, jane, ""))},
	{name: "Windows line ends", user: "jane", namespace: "shop", files: config(strings.ReplaceAll(one(inline, jane, ", namespace: shop"), "\n", "\r\n"))},
	{name: "JSON", user: "jane", files: config(`{"apiVersion":"v1","kind":"Config","current-context":"x","clusters":[{"name":"c","cluster":{"server":"$SERVER","certificate-authority-data":"$CA_DATA"}}],
		"users":[{"name":"u","user":{"token":"$JANE"}}],"contexts":[{"name":"x","context":{"cluster":"c","user":"u"}}]}`)},
	{name: "duplicate keys", user: "jane", files: config(one("server: https://127.0.0.1:1, "+inline, "token: nonsense, "+jane, ""))},
	{name: "duplicate keys in JSON", user: "jane", files: config(`{"current-context":"z","current-context":"x","clusters":[{"name":"c","cluster":{"server":"$SERVER","certificate-authority-data":"$CA_DATA"}}],
		"users":[{"name":"u","user":{"token":"nonsense","token":"$JANE"}}],"contexts":[{"name":"x","context":{"cluster":"c","user":"u"}}]}`)},
	{name: "entry twice", files: config(strings.Replace(one(inline, jane, ""), "users:\n", "users:\n- {name: u, user: {token: nonsense}}\n", 1))},
	{name: "anchors", user: "jane", files: config("current-context: x\nclusters: [{name: c, cluster: &c {" + inline + "}}]\nusers: [{name: u, user: {token: &t $JANE}}]\ncontexts: [{name: x, context: {cluster: c, user: u}}]\nmore: *t\n")},
	{name: "merge keys", user: "jane", files: config("x-base: &b {certificate-authority-data: $CA_DATA}\ncurrent-context: x\nclusters: [{name: c, cluster: {<<: *b, server: '$SERVER'}}]\nusers: [{name: u, user: {" + jane + "}}]\ncontexts: [{name: x, context: {cluster: c, user: u}}]\n")},
	{name: "unknown fields", user: "jane", files: config(one(inline+", shoe-size: 43", jane+", token-file: nothing", ", colour: red") + "preferences: {colors: true}\nextensions: [{name: a, extension: {b: c}}]\nwhatever: [1]\n")},
	{name: "keys in another case", files: config(strings.NewReplacer("current-context", "Current-Context", "token", "Token", "server", "Server").Replace(one(inline, jane, "")))},
	{name: "two documents", user: "jane", files: config(one(inline, jane, "") + "---\n" + one("server: https://127.0.0.1:1", "token: nonsense", ""))},
	{name: "empty first document", files: config("---\n---\n" + one(inline, jane, ""))},
	{name: "another kind", files: config(strings.Replace(one(inline, jane, ""), "kind: Config", "kind: Pod", 1))},
	{name: "null lists and entries", user: "jane", files: config("current-context: x\nclusters: [{name: c, cluster: {" + inline + "}}]\nusers: [{name: u, user: {" + jane + "}}, null, {name: w, user: null}]\ncontexts: [{name: x, context: {cluster: c, user: u}}]\npreferences: null\n")},
	{name: "names that are numbers", user: "jane", differs: "a name need not be quoted", files: config("current-context: 1\nclusters: [{name: 2, cluster: {" + inline + "}}]\nusers: [{name: 3, user: {" + jane + "}}]\ncontexts: [{name: 1, context: {cluster: 2, user: 3}}]\n")},
	{name: "a list where a mapping belongs", files: config("current-context: x\nclusters: {c: {" + inline + "}}\n")},
	{name: "proxy-url http", user: "jane", files: config(one(inline+", proxy-url: '$HTTP_PROXY_URL'", jane, ""))},
	{name: "proxy-url http with credentials", user: "jane", files: config(one(inline+", proxy-url: '$HTTP_PROXY_USER'", jane, ""))},
	{name: "proxy-url http with wrong credentials", files: config(one(inline+", proxy-url: '$HTTP_PROXY_WRONG'", jane, ""))},
	{name: "proxy-url https", user: "jane", files: config(one(inline+", proxy-url: '$HTTPS_PROXY_URL'", jane, ""))},
	{name: "proxy-url socks5", user: "jane", files: config(one(inline+", proxy-url: '$SOCKS_PROXY_URL'", jane, ""))},
	{name: "proxy-url socks5 with credentials", user: "jane", files: config(one(inline+", proxy-url: '$SOCKS_PROXY_USER'", jane, ""))},
	{name: "proxy-url socks5 with wrong credentials", files: config(one(inline+", proxy-url: '$SOCKS_PROXY_WRONG'", jane, ""))},
	{name: "proxy-url socks5h", user: "jane", differs: "net/http knows socks5h", files: config(one(inline+", proxy-url: '$SOCKSH_PROXY_URL'", jane, ""))},
	{name: "proxy-url of another scheme", files: config(one(inline+", proxy-url: 'ftp://127.0.0.1:1'", jane, ""))},
	{name: "server behind HTTPS_PROXY", user: "jane", env: []string{"HTTPS_PROXY=$HTTP_PROXY_URL"}, files: config(one("server: https://faraway.invalid:6443, tls-server-name: localhost, certificate-authority-data: $CA_DATA", jane, ""))},
	{name: "server behind https_proxy socks5", user: "jane", env: []string{"https_proxy=$SOCKS_PROXY_URL"}, files: config(one("server: https://faraway.invalid:6443, tls-server-name: localhost, certificate-authority-data: $CA_DATA", jane, ""))},
	{name: "server behind HTTPS_PROXY without scheme", user: "jane", env: []string{"HTTPS_PROXY=$HTTP_PROXY_HOST"}, files: config(one("server: https://faraway.invalid:6443, tls-server-name: localhost, certificate-authority-data: $CA_DATA", jane, ""))},
	{name: "NO_PROXY of another CIDR", user: "jane", env: []string{"HTTPS_PROXY=$HTTP_PROXY_URL", "NO_PROXY=10.1.0.0/16"}, files: config(one("server: https://10.2.3.4:6443, tls-server-name: localhost, certificate-authority-data: $CA_DATA", jane, ""))},
	{name: "NO_PROXY of everything", user: "jane", env: []string{"HTTPS_PROXY=http://127.0.0.1:1", "NO_PROXY=*"}, files: config(one(inline, jane, ""))},
	{name: "proxy-url outweighs HTTPS_PROXY and NO_PROXY", user: "jane", env: []string{"HTTPS_PROXY=http://127.0.0.1:1", "NO_PROXY=*"}, files: config(one("server: https://faraway.invalid:6443, tls-server-name: localhost, certificate-authority-data: $CA_DATA, proxy-url: '$HTTP_PROXY_URL'", jane, ""))},
	{name: "plugin v1", user: "jane", namespace: "shop", files: with(config(one(inline, execUser(v1never), ", namespace: shop")), "home/.kube/plugin", script("v1", tokened))},
	{name: "plugin v1 without interactiveMode", files: with(config(one(inline, execUser("apiVersion: client.authentication.k8s.io/v1"), "")), "home/.kube/plugin", script("v1", tokened))},
	{name: "plugin v1beta1", user: "jane", files: with(config(one(inline, execUser("apiVersion: client.authentication.k8s.io/v1beta1"), "")), "home/.kube/plugin", script("v1beta1", tokened))},
	{name: "plugin v1alpha1", files: with(config(one(inline, execUser("apiVersion: client.authentication.k8s.io/v1alpha1"), "")), "home/.kube/plugin", script("v1alpha1", tokened))},
	{name: "plugin that speaks another version", files: with(config(one(inline, execUser(v1never), "")), "home/.kube/plugin", script("v1beta1", tokened))},
	{name: "plugin without apiVersion in what it prints", files: with(config(one(inline, execUser(v1never), "")), "home/.kube/plugin", "#!/bin/sh\necho '{\"kind\":\"ExecCredential\",\"status\":{\"token\":\"'$JANE'\"}}'\n")},
	{name: "plugin that prints YAML", user: "jane", files: with(config(one(inline, execUser(v1never), "")), "home/.kube/plugin", "#!/bin/sh\nprintf 'apiVersion: client.authentication.k8s.io/v1\\nkind: ExecCredential\\nstatus:\\n  token: $JANE\\n'\n")},
	{name: "plugin that prints unknown fields", user: "jane", files: with(config(one(inline, execUser(v1never), "")), "home/.kube/plugin", script("v1", `\"more\":[1],`+tokened))},
	{name: "plugin that prints keys in another case", files: with(config(one(inline, execUser(v1never), "")), "home/.kube/plugin", script("v1", `\"Token\":\"$JANE\"`))},
	{name: "plugin that prints something after it", files: with(config(one(inline, execUser(v1never), "")), "home/.kube/plugin", script("v1", tokened)+"echo done\n")},
	{name: "plugin that prints something before it", files: with(config(one(inline, execUser(v1never), "")), "home/.kube/plugin", "#!/bin/sh\necho hello\n"+script("v1", tokened))},
	{name: "plugin that prints an expired credential", user: "jane", files: with(config(one(inline, execUser(v1never), "")), "home/.kube/plugin", script("v1", `\"expirationTimestamp\":\"2020-01-01T00:00:00Z\",`+tokened))},
	{name: "plugin that prints a bad time", files: with(config(one(inline, execUser(v1never), "")), "home/.kube/plugin", script("v1", `\"expirationTimestamp\":\"tomorrow\",`+tokened))},
	{name: "plugin that prints a time with an offset", user: "jane", files: with(config(one(inline, execUser(v1never), "")), "home/.kube/plugin", script("v1", `\"expirationTimestamp\":\"2036-01-01T00:00:00+02:00\",`+tokened))},
	{name: "plugin that prints an empty token", files: with(config(one(inline, execUser(v1never), "")), "home/.kube/plugin", script("v1", `\"token\":\"\"`))},
	{name: "plugin that prints a token with a line break", files: with(config(one(inline, execUser(v1never), "")), "home/.kube/plugin", "#!/bin/sh\necho '{\"kind\":\"ExecCredential\",\"apiVersion\":\"client.authentication.k8s.io/v1\",\"status\":{\"token\":\"'$JANE'\\n\"}}'\n")},
	{name: "plugin that prints a wrong token", files: with(config(one(inline, execUser(v1never), "")), "home/.kube/plugin", script("v1", `\"token\":\"nonsense\"`))},
	{name: "plugin that prints a certificate", user: "carol", files: with(config(one(inline, execUser(v1never), "")), "home/.kube/plugin", "#!/bin/sh\ncat <<'END'\n{\"kind\":\"ExecCredential\",\"apiVersion\":\"client.authentication.k8s.io/v1\",\"status\":{\"clientCertificateData\":$CAROL_JSON,\"clientKeyData\":$CAROL_KEY_JSON}}\nEND\n")},
	{name: "plugin that fails", files: with(config(one(inline, execUser(v1never), "")), "home/.kube/plugin", "#!/bin/sh\necho why >&2\nexit 3\n")},
	{name: "plugin that prints a token and fails", files: with(config(one(inline, execUser(v1never), "")), "home/.kube/plugin", script("v1", tokened)+"exit 3\n")},
	{name: "plugin that is killed", files: with(config(one(inline, execUser(v1never), "")), "home/.kube/plugin", "#!/bin/sh\nkill -9 $$\n")},
	{name: "plugin with very much stderr", user: "jane", files: with(config(one(inline, execUser(v1never), "")), "home/.kube/plugin", "#!/bin/sh\nhead -c 3000000 /dev/zero | tr '\\0' x >&2\n"+script("v1", tokened))},
	{name: "plugin that reads stdin", user: "jane", stdin: "something", files: with(config(one(inline, execUser(v1never), "")), "home/.kube/plugin", "#!/bin/sh\nx=$(cat)\ntest -z \"$x\" || exit 1\n"+script("v1", tokened))},
	{name: "plugin that reads stdin if available", user: "jane", stdin: "something", files: with(config(one(inline, execUser("apiVersion: client.authentication.k8s.io/v1, interactiveMode: IfAvailable"), "")), "home/.kube/plugin", "#!/bin/sh\nx=$(cat)\ntest -z \"$x\" || exit 1\n"+script("v1", tokened))},
	{name: "plugin that must ask, without a terminal", files: with(config(one(inline, execUser("apiVersion: client.authentication.k8s.io/v1, interactiveMode: Always"), "")), "home/.kube/plugin", script("v1", tokened))},
	{name: "plugin with arguments and environment", user: "jane", files: with(config(one(inline, execUser(v1never+", args: ['a b', c], env: [{name: D, value: 'e f'}, {name: HOME, value: g}]"), "")), "home/.kube/plugin", "#!/bin/sh\ntest \"$1/$2/$D/$HOME\" = 'a b/c/e f/g' || exit 1\n"+script("v1", tokened))},
	{name: "plugin in PATH", user: "jane", env: []string{"PATH=$DIR/bin:/usr/bin:/bin"}, files: with(config(one(inline, "exec: {command: plugin, "+v1never+"}", "")), "bin/plugin", script("v1", tokened))},
	{name: "plugin in the current directory is not in PATH", files: with(config(one(inline, "exec: {command: plugin, "+v1never+"}", "")), "plugin", script("v1", tokened))},
	{name: "plugin that is not there", files: config(one(inline, execUser(v1never+", installHint: get it"), ""))},
	{name: "plugin receives the cluster", user: "jane", files: with(config(one(inline+", tls-server-name: localhost, extensions: [{name: client.authentication.k8s.io/exec, extension: {audience: a}}]", execUser(v1never+", provideClusterInfo: true"), "")), "home/.kube/plugin", "#!/bin/sh\ncase $KUBERNETES_EXEC_INFO in *'\"server\":\"$SERVER\"'*'\"audience\":\"a\"'*) ;; *) exit 1;; esac\n"+script("v1", tokened))},
	{name: "plugin and basic flags", files: with(config(one(inline, execUser(v1never), "")), "home/.kube/plugin", script("v1", tokened)), args: []string{"--username", "u", "--password", "p"}},
	{name: "plugin and certificate flags", user: "carol", files: with(with(with(config(one(inline, execUser(v1never), "")), "home/.kube/plugin", script("v1", tokened)), "c", "$CAROL"), "k", "$CAROL_KEY"), args: []string{"--client-certificate", "c", "--client-key", "k"}},
	{name: "plugin and as", user: "frank", files: with(config(one(inline, execUser(v1never)+", as: frank", "")), "home/.kube/plugin", strings.ReplaceAll(script("v1", tokened), "$JANE", "$ADMIN"))},
	{name: "plugin over http", files: with(config(one("server: http://$HOST", execUser(v1never), "")), "home/.kube/plugin", script("v1", tokened))},
	{name: "server with a query", user: "jane", files: config(one("server: '$SERVER/?a=b', certificate-authority-data: $CA_DATA", jane, ""))},
	{name: "cluster without server", files: config(one("certificate-authority-data: $CA_DATA", jane, ""))},
	{name: "home with a kubeconfig and a pod's environment without a token", user: "jane", env: []string{"KUBERNETES_SERVICE_HOST=127.0.0.1", "KUBERNETES_SERVICE_PORT=1"}, files: config(one(inline, jane, ""))},
	{name: "request-timeout", user: "jane", files: config(one(inline, jane, "")), args: []string{"--request-timeout", "10s"}},
}
