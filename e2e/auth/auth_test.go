package auth_test

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/listwatch/listwatch/e2e/cluster"
	"github.com/listwatch/listwatch/e2e/internal/setup"
)

var update = flag.Bool("update", false, "write what the program prints into testdata")

// TestAuth: what the program says of each way to come to a server, good and bad,
// is what the files in testdata hold: stdout, stderr and exit code of each
// command, with what depends on the run replaced.
func TestAuth(t *testing.T) {
	c := cluster.ForTest(t, cluster.Options{})
	p := setup.BuildProgram(t)
	a := newAuthStage(t, c)
	for _, story := range authStories {
		t.Run(story.name, func(t *testing.T) {
			var said strings.Builder
			for _, line := range story.commands {
				r := p.Run(t, append(a.words(line), "--kubeconfig", a.config)...)
				said.WriteString(a.scene(line, r))
			}
			a.compare(t, story.name, said.String())
			a.holdsNoSecret(t, said.String())
		})
	}
}

// authStory is some commands, of which $NAME stands for what is there only at run
// time. What they write goes into one file.
type authStory struct {
	name     string
	commands []string
}

const (
	watchPods = "watch pods --once -o name --context "
	checkPods = "auth check pods --context "
)

var authStories = []authStory{
	{"client-certificate", []string{watchPods + "certificate", checkPods + "certificate", "auth check --context certificate"}},
	{"client-certificate-expired", []string{watchPods + "certificate-expired", checkPods + "certificate-expired"}},
	{"client-certificate-of-another-ca", []string{watchPods + "certificate-stranger", checkPods + "certificate-stranger"}},
	{"client-certificate-for-servers", []string{watchPods + "certificate-server", checkPods + "certificate-server"}},
	{"service-account", []string{
		watchPods + "account", watchPods + "account -n elsewhere", watchPods + "account -A",
		checkPods + "account", checkPods + "account -n elsewhere", checkPods + "account -A",
		"auth check --context account",
	}},
	{"service-account-token-file", []string{watchPods + "account-file", checkPods + "account-file"}},
	{"service-account-list-only", []string{
		"list configmaps/plain -o name --context account", "watch configmaps --once -o name --initial-list paged --context account",
		"watch configmaps --once -o name --context account", "watch configmaps --max-events 1 --max-failures 1 --initial-list paged -o name --context account",
		"auth check configmaps,nodes --context account",
	}},
	{"service-account-watch-only", []string{
		"list services --context account", "watch services --once --context account", "watch services --watch-only --context account",
		"auth check services services/kubernetes --context account", "auth check services/kubernetes --context account",
	}},
	{"service-account-named-object", []string{
		"list secrets --context account", "watch secrets/one --once -o name --context account", "auth check secret/one secret/two --context account",
	}},
	{"token-expired", []string{watchPods + "account-expired", checkPods + "account-expired"}},
	{"token-of-deleted-account", []string{watchPods + "account-deleted", checkPods + "account-deleted"}},
	{"token-wrong", []string{watchPods + "wrong", checkPods + "wrong", watchPods + "certificate --token $WRONG"}},
	{"nothing", []string{watchPods + "nobody", checkPods + "nobody", "auth check --context nobody"}},
	{"impersonation", []string{
		watchPods + "admin --as carol", checkPods + "admin --as carol --as-group team --as-uid 7 --as-user-extra example.com/why=test --as-user-extra example.com/why=more",
		checkPods + "admin --as system:serviceaccount:shop:watcher", "auth check secrets --context admin --as carol", watchPods + "as",
	}},
	{"impersonation-refused", []string{watchPods + "certificate --as admin", checkPods + "certificate --as admin", checkPods + "certificate --as carol --as-group system:masters"}},
	{"json", []string{"auth check pods,secrets --context account -o json", "auth check pods -q --context account -n elsewhere", "auth check pods -o json --context wrong"}},
	{"server", []string{
		watchPods + "certificate --tls-server-name elsewhere.example", checkPods + "certificate --tls-server-name elsewhere.example",
		watchPods + "certificate --certificate-authority $DIR/stranger.crt", checkPods + "certificate --certificate-authority $DIR/stranger.crt",
		watchPods + "certificate --server $REFUSING", checkPods + "certificate --server $REFUSING",
		watchPods + "certificate --server $PLAIN", checkPods + "certificate --server $PLAIN",
		checkPods + "certificate --insecure-skip-tls-verify",
	}},
	{"configuration", []string{
		watchPods + "nope", checkPods + "nope", watchPods + "no-file", checkPods + "no-file", watchPods + "no-base64", watchPods + "no-pem", checkPods + "no-pem",
		"auth check pots --context account", "auth check bindings --context account",
	}},
	{"plugin", []string{watchPods + "plugin", checkPods + "plugin"}},
	{"plugin-missing", []string{watchPods + "plugin-missing", checkPods + "plugin-missing"}},
	{"plugin-failing", []string{watchPods + "plugin-failing", checkPods + "plugin-failing"}},
	{"plugin-garbage", []string{watchPods + "plugin-garbage", checkPods + "plugin-garbage"}},
	{"plugin-wrong", []string{watchPods + "plugin-wrong", checkPods + "plugin-wrong"}},
	{"auth-provider", []string{watchPods + "gcp", checkPods + "gcp", watchPods + "azure", watchPods + "oidc"}},
	{"requests", []string{watchPods + "account -v 6 --initial-list paged", watchPods + "account -n elsewhere -v 6 --log-format json --initial-list paged"}},
}

// words makes arguments of a line.
func (a *authStage) words(line string) []string {
	var words []string
	for word := range strings.FieldsSeq(line) {
		words = append(words, os.Expand(word, func(name string) string { return a.values[name] }))
	}
	return words
}

// scene is what a command wrote.
func (a *authStage) scene(line string, r setup.Result) string {
	text := "$ listwatch " + line + "\n"
	for _, part := range []struct{ name, text string }{{"stdout", r.Stdout}, {"stderr", r.Stderr}} {
		if part.text != "" {
			text += "-- " + part.name + "\n" + inOrder(a.scrub(part.text))
		}
	}
	return text + fmt.Sprintf("-- exit code %d\n\n", r.Code)
}

// What depends on the run. Values of auth check that go on in the next line are
// joined first: where they break depends on the length of paths.
var authScrubs = []struct {
	what *regexp.Regexp
	with string
}{
	{regexp.MustCompile(`\n {15}(\S)`), " $1"},
	{regexp.MustCompile(`\b20\d\d-\d\d-\d\d([T ]\d\d:\d\d(:\d\d(\.\d+)?)?(Z| UTC|[+-]\d\d:\d\d))?`), "DATE"},
	{regexp.MustCompile(`[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}`), "UID"},
	{regexp.MustCompile(`X509SHA256=[0-9a-f]{64}`), "X509SHA256=HASH"},
	{regexp.MustCompile(`\bv1\.\d+\.\d+\b`), "VERSION"},
	{regexp.MustCompile(`(127\.0\.0\.1:\d+)->127\.0\.0\.1:\d+`), "$1"},
	{regexp.MustCompile(`\b\d+(\.\d+)?(µs|ms|s)\b`), "DUR"},
	{regexp.MustCompile(`"(ms|duration|milliseconds)":[0-9.]+`), `"$1":N`},
	{regexp.MustCompile(`"reused":(true|false)`), `"reused":BOOL`},
}

// inOrder sorts neighbouring lines that tell of requests: two are under way at once.
func inOrder(text string) string {
	lines := strings.SplitAfter(text, "\n")
	for i := 1; i < len(lines); i++ {
		if strings.Contains(lines[i], "SERVER/api\"") && strings.Contains(lines[i-1], "SERVER/apis\"") || strings.Contains(lines[i], "SERVER/api:") && strings.Contains(lines[i-1], "SERVER/apis:") {
			lines[i-1], lines[i] = lines[i], lines[i-1]
		}
	}
	return strings.Join(lines, "")
}

func (a *authStage) scrub(text string) string {
	text = authScrubs[0].what.ReplaceAllString(text, authScrubs[0].with)
	for _, pair := range a.places {
		text = strings.ReplaceAll(text, pair[0], pair[1])
	}
	for _, s := range authScrubs[1:] {
		text = s.what.ReplaceAllString(text, s.with)
	}
	return text
}

func (a *authStage) compare(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name+".txt")
	if *update {
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatalf("%v (-update writes it)", err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("%s (-want +got), -update writes it again:\n%s", path, diff)
	}
}

// holdsNoSecret: whatever went wrong, no credential is printed.
func (a *authStage) holdsNoSecret(t *testing.T, said string) {
	t.Helper()
	for name, secret := range a.secrets {
		for _, form := range forms(secret) {
			if strings.Contains(said, form) {
				t.Errorf("the %s was printed", name)
			}
		}
	}
	for _, never := range []string{"goroutine ", "panic", "PRIVATE KEY"} {
		if strings.Contains(said, never) {
			t.Errorf("it says %q", never)
		}
	}
}
