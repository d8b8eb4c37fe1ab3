package compat

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"regexp"
	"slices"
	"strings"
	"testing"

	peer "k8s.io/client-go/util/jsonpath"

	"github.com/listwatch/listwatch/jsonpath"
)

// TestJSONPath prints templates at random by package jsonpath and by client-go,
// whose dialect it is. Where client-go prints something, we print the same. What
// the documentation of package jsonpath names as different is not generated: wild
// cards over several members, empty lists, elements of strings, the question whether
// there is an element.
func TestJSONPath(t *testing.T) {
	const doc = `{"kind":"List","n":7,"f":2.5,"t":true,"none":null,"one":{"only":"x"},
	 "items":[{"name":"a","n":1,"t":true,"list":["x","y","z"],"in":{"deep":{"name":"d1"}},"m.d":"dot"},
	  {"name":"b","n":2,"t":false,"list":["q"],"none":null},
	  {"name":"c","n":30,"list":["r","s"],"in":{"deep":{"name":"d2"}},"html":"<&>"}]}`
	var v any
	d := json.NewDecoder(strings.NewReader(doc))
	d.UseNumber()
	if err := d.Decode(&v); err != nil {
		t.Fatal(err)
	}
	v = kubectlNumbers(v)
	r := rand.New(rand.NewPCG(1, 2))
	alike, both := 0, 0
	for range 50000 {
		template := randomTemplate(r)
		if asksForElement.MatchString(template) {
			continue
		}
		theirs, theirErr := peerPrint(template, v)
		tpl, err := jsonpath.Parse(template)
		var ours []byte
		if err == nil {
			ours, err = tpl.Append(nil, v)
		}
		switch {
		case theirErr != nil && err != nil:
			both++
		case theirErr == nil && err == nil && same(template, theirs, string(ours)):
			alike++
		case theirErr == nil && err != nil && tpl == nil && late.MatchString(err.Error()):
		default:
			t.Fatalf("%s\nclient-go: %q, %v\nours:      %q, %v", template, theirs, theirErr, ours, err)
		}
	}
	t.Logf("%d templates printed the same, %d were refused by both", alike, both)
	if alike < 10000 || both < 1000 {
		t.Errorf("%d the same, %d refused: the generator has lost its way", alike, both)
	}
}

// same compares what is printed, where the order of members is chance without it.
func same(template, a, b string) bool {
	a = strings.ReplaceAll(a, "<no value>", "null") // how client-go prints the null of a range
	if !strings.Contains(template, "..") {
		return a == b
	}
	sorted := func(s string) string {
		letters := []byte(s)
		slices.Sort(letters)
		return string(letters)
	}
	return sorted(a) == sorted(b)
}

// asksForElement are filters that ask whether there is an element: client-go says
// yes where the question is an error.
var asksForElement = regexp.MustCompile(`\[\?\([^!<>=)]*\[`)

// late is what client-go finds only when it gets there.
var late = regexp.MustCompile(`without its {end}|{end} without a range|a filter compares by|: a path begins with a dot|a brace inside brackets`)

func peerPrint(template string, v any) (text string, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("client-go panics: %v", p)
		}
	}()
	j := peer.New("x").AllowMissingKeys(true)
	if err := j.Parse(template); err != nil {
		return "", err
	}
	var b bytes.Buffer
	err = j.Execute(&b, v)
	return b.String(), err
}

// kubectlNumbers makes numbers what kubectl's decoder makes of them.
func kubectlNumbers(v any) any {
	switch v := v.(type) {
	case map[string]any:
		for k := range v {
			v[k] = kubectlNumbers(v[k])
		}
	case []any:
		for i := range v {
			v[i] = kubectlNumbers(v[i])
		}
	case json.Number:
		if n, err := v.Int64(); err == nil {
			return n
		}
		f, _ := v.Float64()
		return f
	}
	return v
}

func randomTemplate(r *rand.Rand) string {
	pick := func(s ...string) string { return s[r.IntN(len(s))] }
	var path func(depth int) string
	literal := func() string {
		return pick(`"a"`, `'b'`, `1`, `2`, `30`, `2.5`, `true`, `false`, `"d1"`, `"<&>"`, `@.n`, `@.name`)
	}
	path = func(depth int) string {
		s := pick("", "", "@", "$")
		for range 1 + r.IntN(4) {
			switch r.IntN(14) {
			case 0, 1, 2, 3:
				s += "." + pick("items", "kind", "name", "n", "f", "t", "none", "list", "in", "deep", "missing", `m\.d`, "html", "one")
			case 4, 5:
				s += ".items" + pick("[0]", "[1]", "[-1]", "[*]", "[3]", "[0:2]", "[1:]", "[::2]", "[:-1]", "[0,2]", "[2:2]", "['name']", "['name','n']", "[x]", "[", "[ 1]")
			case 6:
				s += pick("[0]", "[*]", "[-1]", "[1:3]", "['name']", `['m\.d']`, "['in']")
			case 7:
				s += ".." + pick("name", "deep", "list", "n", "missing")
			case 8:
				s += pick(".one.*", " ", ".list[*]", ".in.deep.name")
			case 9, 10, 11:
				if depth > 0 {
					s += ".items[?(" + path(0)
					if r.IntN(4) > 0 {
						s += pick("==", "!=", "<", ">", "<=", ">=", " == ", "=~", "=") + literal()
					}
					s += ")]" + pick("", ".name", ".n", ".list[0]")
				}
			case 12:
				s += pick(`"text"`, `"\n"`, `'x'`, `"\t\x41\u00e9"`, `"\'"`)
			case 13:
				s += pick("}", "#", ",", "..", "...", "1", "-1.5", "+2", "true")
			}
		}
		return s
	}
	s := ""
	for range 1 + r.IntN(3) {
		switch r.IntN(6) {
		case 0:
			s += pick("text", " ", "a}b", "\n")
		case 1:
			s += "{range .items[*]}{" + path(0) + "}" + pick("", ", ", `{"\n"}`) + pick("{end}", "{end}", "{end}", "{ end }")
		case 2:
			s += "{range " + path(1) + "}{" + pick(".name", "@", ".n") + "}{end}"
		default:
			s += "{" + path(1) + "}"
		}
	}
	return s
}
