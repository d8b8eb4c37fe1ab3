package jsonpath_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/listwatch/listwatch/jsonpath"
)

const object = `{
 "kind":"List",
 "items":[
  {"metadata":{"name":"a","labels":{"app":"web","x/y.z":"dotted"}},"n":1,"ok":true,"list":["x","y","z"],"f":1.5},
  {"metadata":{"name":"b","labels":{}},"n":2,"ok":false,"list":[],"gone":null},
  {"metadata":{"name":"c"},"n":30,"ok":true,"list":["q"],"text":"<&>","big":12345678901}
 ],
 "empty":[],
 "conditions":[{"type":"Ready","status":"True"},{"type":"Old (really)","status":"False"}]
}`

func decode(t testing.TB, s string) any {
	t.Helper()
	d := json.NewDecoder(strings.NewReader(s))
	d.UseNumber()
	var v any
	if err := d.Decode(&v); err != nil {
		t.Fatal(err)
	}
	return v
}

func TestTemplates(t *testing.T) {
	v := decode(t, object)
	for template, want := range map[string]string{
		``:                                         ``,
		`plain } text`:                             `plain } text`,
		`{}`:                                       compact(t, object),
		`{@.kind}{$.kind}{.kind}`:                  `ListListList`,
		`kind: {.kind}{"\n"}`:                      "kind: List\n",
		`{'it''s'}`:                                `s`,
		`{.kind "over"}`:                           `over`,
		`{ .items[0] .metadata.name }`:             `a`,
		`{.missing}{.missing.far}{.kind.name}`:     ``,
		`{.items[*].metadata.name}`:                `a b c`,
		`{.items[1:].metadata.name}`:               `b c`,
		`{.items[:2].metadata.name}`:               `a b`,
		`{.items[::2].metadata.name}`:              `a c`,
		`{.items[-1].metadata.name}`:               `c`,
		`{.items[-2:].metadata.name}`:              `b c`,
		`{.items[0:-1].metadata.name}`:             `a b`,
		`{.items[2:2].metadata.name}`:              ``,
		`{.items[0,2].metadata.name}`:              `a c`,
		`{.items[*]['metadata.name', 'n']}`:        `a b c 1 2 30`,
		`{.items[0].metadata['name']}`:             `a`,
		`{.items[0].metadata.labels.x/y\.z}`:       `dotted`,
		`{.items[0].metadata.labels['x/y\.z']}`:    `dotted`,
		`{.items[0].metadata.*}`:                   `{"app":"web","x/y.z":"dotted"} a`,
		`{..name}`:                                 `a b c`,
		`{.items..app}`:                            `web`,
		`{.items[0].list..}`:                       `["x","y","z"] x y z`,
		`{..list[0]}`:                              ``, // an error, see below
		`{.items[0].metadata}`:                     `{"labels":{"app":"web","x/y.z":"dotted"},"name":"a"}`,
		`{.items[2].text}{.items[2].list}`:         `<&>["q"]`,
		`{.items[2]['text','big']}`:                `<&> 12345678901`,
		`{.items[1].gone}`:                         `null`,
		`{.items[1].gone.more}{.items[1].gone[0]}`: ``,
		`{.items[0].f} {.items[0].ok}`:             `1.5 true`,
		`{.items[*].list[*]}`:                      `x y z q`,
		`{.empty}{.empty[*]}`:                      `[]`,
		`{true}{1}{-2.5}`:                          `true1-2.5`,

		`{.items[?(@.ok==true)].metadata.name}`:           `a c`,
		`{.items[?(@.ok!=true)].metadata.name}`:           `b`,
		`{.items[?(@.n>1)].metadata.name}`:                `b c`,
		`{.items[?(@.n<=2)].metadata.name}`:               `a b`,
		`{.items[?(@.f)].metadata.name}`:                  `a`,
		`{.items[?(@.gone)].metadata.name}`:               `b`,
		`{.items[?(@.text=="<&>")].n}`:                    `30`,
		`{.items[?(@.n==@.n)].n}`:                         `1 2 30`,
		`{.items[?(@.metadata.name >= "b")].n}`:           `2 30`,
		`{.items[?('b'==@.metadata.name)].n}`:             `2`,
		`{.items[?(@.metadata.labels.app)].n}`:            `1`,
		`{.conditions[?(@.type=="Ready")].status}`:        `True`,
		`{.conditions[?(@.type=="Old (really)")].status}`: `False`,
		`{.conditions[?(@.type=='Ready')].status}`:        `True`,
		`{.conditions[?(@.type=="None")].status}`:         ``,

		`{range .items[*]}{.metadata.name}:{.n}{"\n"}{end}`:     "a:1\nb:2\nc:30\n",
		`{range .items[*]}[{range .list[*]}{@},{end}]{end}.`:    "[x,y,z,][][q,].",
		`{range .none[*]}never{range .x[*]}{.y}{end}{end}after`: `after`,
		`{range.empty[*]}x{end}{.kind}`:                         `List`,
		`{range .items[*]}{$.n} {end}`:                          `1 2 30 `, // $ is the object at hand, as for kubectl
	} {
		t.Run(template, func(t *testing.T) {
			tpl, err := jsonpath.Parse(template)
			if err != nil {
				t.Fatal(err)
			}
			b, err := tpl.Append([]byte(">"), v)
			if template == `{..list[0]}` {
				if err == nil || string(b) != ">" {
					t.Errorf("an element that is missing: %q, %v", b, err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(">"+want, string(b)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestWhatDoesNotFitTheObject(t *testing.T) {
	v := decode(t, object)
	for template, want := range map[string]string{
		`{.items[3]}`:                  "no element 3 in a list of 3",
		`{.items[-4]}`:                 "no element -1 in a list of 3",
		`{.empty[0]}`:                  "no element 0 in a list of 0",
		`{.items[0:4]}`:                "no element 3 in a list of 3",
		`{.items[2:1]}`:                "the end stands before the beginning",
		`{.items[::0]}`:                "a step of 0",
		`{.kind[0]}`:                   "a string is no list",
		`{.items[0][0]}`:               "an object is no list",
		`{.kind[?(@.x)]}`:              "cannot be filtered",
		`{.items[?(@.n=="1")]}`:        "a whole number and a string cannot be compared by ==",
		`{.items[?(@.f==1)]}`:          "a fraction and a whole number cannot be compared by ==",
		`{.items[?(@.ok<true)]}`:       "a bool and a bool cannot be compared by <",
		`{.items[?(@.metadata=="a")]}`: "an object and a string cannot be compared",
		`{.items[?(@.list[*]=="x")]}`:  "several",
		`{.items[?("a"==@.list[*])]}`:  "several",
	} {
		tpl, err := jsonpath.Parse(template)
		if err != nil {
			t.Errorf("%s: %v", template, err)
			continue
		}
		got, err := tpl.Find(v)
		if err == nil || !strings.HasPrefix(err.Error(), "jsonpath: ") || !strings.Contains(err.Error(), want) || got != nil {
			t.Errorf("%s: %v, %v, want an error with %q", template, got, err, want)
		}
	}
}

func TestWhatIsNoTemplate(t *testing.T) {
	for template, want := range map[string]string{
		`{.a`:                            "byte 3: an action without its closing brace",
		`x{`:                             "byte 2: an action without its closing brace",
		`{end}`:                          "byte 4: {end} without a range",
		`{range .a}x`:                    "a range without its {end}",
		`{range .a}{end}{end}`:           "{end} without a range",
		`{a}`:                            `byte 1: "a": a path begins with a dot`,
		`{.a range}`:                     `"range"`,
		`{.a[}`:                          "a bracket that is not closed",
		`{.a[x]}`:                        "[x] is no index",
		`{.a["x"]}`:                      `["x"] is no index`,
		`{.a[]}`:                         "[] is empty",
		`{.a[99999999999999999999]}`:     "a number that is none",
		`{.a[?(@.b==1]}`:                 "a filter without its closing )]",
		`{.a[?(@.b=="x)]}`:               "a filter without its closing )]",
		`{.a[?(@.b=~"x")]}`:              "a filter compares by",
		`{.a[?(@.b===1)]}`:               "a filter compares by",
		`{.a[?(b==1)]}`:                  `"b": a path begins with a dot`,
		`{.a[?(@.b)}`:                    "a filter without its closing )]",
		`{....a}`:                        "a recursive descent (..) right after another",
		`{"x}`:                           "text without its closing quote",
		`{"\q"}`:                         "an escape in quotes",
		`{1.2.3}`:                        `"1.2.3" is not a number`,
		`{.a|.b}{#}`:                     `'#' means nothing here`,
		"{\n.a}":                         `'\n' means nothing here`,
		`{.a['b}c']}`:                    "a brace inside brackets",
		strings.Repeat(`{range .a}`, 20): "more than 16 ranges",
		strings.Repeat(`x`, 70<<10):      "at most 65536",
	} {
		_, err := jsonpath.Parse(template)
		if err == nil || !strings.HasPrefix(err.Error(), "jsonpath: ") || !strings.Contains(err.Error(), want) {
			t.Errorf("%.60s: %v, want an error with %q", template, err, want)
		}
	}
}

func TestParsePathTakesBracesAndDotOrNot(t *testing.T) {
	v := decode(t, object)
	for _, path := range []string{"items[0].metadata.name", ".items[0].metadata.name", "{items[0].metadata.name}", "{.items[0].metadata.name}", "$.items[0].metadata.name"} {
		tpl, err := jsonpath.ParsePath(path)
		if err != nil {
			t.Errorf("%s: %v", path, err)
			continue
		}
		if found, err := tpl.Find(v); err != nil || fmt.Sprint(found) != "[[a]]" {
			t.Errorf("%s: %v, %v", path, found, err)
		}
		if root, ok := tpl.Root(); root != "items" || !ok {
			t.Errorf("%s: root %q, %t", path, root, ok)
		}
	}
	for _, path := range []string{"", "{.a}{.b}", "{.a} x", "{.a", "{}"} {
		if _, err := jsonpath.ParsePath(path); err == nil {
			t.Errorf("%q is taken for a path", path)
		}
	}
	for _, path := range []string{"$", "..name", "*"} {
		tpl, err := jsonpath.ParsePath(path)
		if err != nil {
			t.Errorf("%s: %v", path, err)
		} else if root, ok := tpl.Root(); ok {
			t.Errorf("%s begins with %q", path, root)
		}
	}
}

func TestFindGivesWhatEachPartLeadsTo(t *testing.T) {
	tpl, err := jsonpath.Parse(`a{.items[*].n}{.none}`)
	if err != nil {
		t.Fatal(err)
	}
	got, err := tpl.Find(decode(t, object))
	if err != nil {
		t.Fatal(err)
	}
	want := [][]any{{"a"}, {json.Number("1"), json.Number("2"), json.Number("30")}, nil}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestDescentsAreBounded(t *testing.T) {
	deep := strings.Repeat(`{"a":[`, 100) + `1` + strings.Repeat(`]}`, 100)
	tpl, err := jsonpath.Parse(`{...*...*...*...*...*}`)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := tpl.Find(decode(t, deep)); err == nil || !strings.Contains(err.Error(), "more than 1048576 values") {
		t.Error(err)
	}
}

// TestDescentsAreBoundedInBytes: each level of an object is below all those above it, so
// a descent prints a text at the bottom once for each level.
func TestDescentsAreBoundedInBytes(t *testing.T) {
	deep := strings.Repeat(`{"name":`, 200) + `"` + strings.Repeat("x", 100<<10) + `"` + strings.Repeat("}", 200)
	v := decode(t, deep)
	for _, template := range []string{`{..name}`, `{..}`, `{.name..name}`, `{range ..name}{@}{end}`, `{..name}{..name}`} {
		tpl, err := jsonpath.Parse(template)
		if err != nil {
			t.Fatal(err)
		}
		const want = "more than 16777216 bytes"
		if b, err := tpl.Append(nil, v); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("Append %s: %d bytes, error %v, want %q", template, len(b), err, want)
		}
		if _, err := tpl.Find(v); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("Find %s: error %v, want %q", template, err, want)
		}
	}
	whole, err := jsonpath.Parse(strings.Repeat("{@}", 200)) // the template asks for it, not the object
	if err != nil {
		t.Fatal(err)
	}
	if b, err := whole.Append(nil, v); err != nil || len(b) != 200*len(deep) {
		t.Errorf("%d bytes, error %v", len(b), err)
	}
}

func compact(t *testing.T, s string) string {
	t.Helper()
	b, err := json.Marshal(decode(t, s))
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// FuzzTemplate: nothing panics, what is printed is what is found, and a path that
// is all members finds what a walk over them finds.
func FuzzTemplate(f *testing.F) {
	for _, template := range []string{".spec.replicas", `{.a[?(@.n>=1.5)]}`, `{range .a[*]}{@}{end}`, `{..n}{.*}`, `{['a','b'][0:-1:2]}`, "{\"\\x41\"}", "{[?(@", "{.a[-1][-1][*]}"} {
		f.Add(template, `{"a":[[1,{"n":2}],"x"],"spec":{"replicas":3},"b":null}`)
	}
	f.Fuzz(func(t *testing.T, template, doc string) {
		var v any
		if json.Unmarshal([]byte(doc), &v) != nil {
			return
		}
		tpl, err := jsonpath.Parse(template)
		if err != nil {
			return
		}
		found, err := tpl.Find(v)
		text, printErr := tpl.Append(nil, v)
		if (err == nil) != (printErr == nil) {
			t.Fatalf("found: %v; printed: %v", err, printErr)
		}
		if err != nil {
			return
		}
		want := ""
		for _, values := range found {
			var parts []string
			for _, v := range values {
				s, err := jsonpath.Text(v)
				if err != nil {
					t.Fatal(err)
				}
				parts = append(parts, s)
			}
			want += strings.Join(parts, " ")
		}
		if want != string(text) {
			t.Errorf("prints %q, found %q", text, want)
		}
	})
}
