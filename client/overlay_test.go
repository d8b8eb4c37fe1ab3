package client

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/listwatch/listwatch/client/internal/merge"
	"github.com/listwatch/listwatch/codec"
	"github.com/listwatch/listwatch/kube"
)

// partial knows of a Pod, a Service or whatever else what stands in the tests. What it
// does not know is called x.
type partial struct {
	kube.Meta `json:"metadata"`
	Spec      struct {
		Text       string           `json:"text,omitempty"`
		Number     int              `json:"number"`
		Object     *inner           `json:"object,omitempty"`
		Zero       inner            `json:"zero,omitzero"`
		Map        map[string]inner `json:"map,omitempty"`
		Containers []inner          `json:"containers,omitempty"`
		Ports      []port           `json:"ports,omitempty"`
		Rules      []rule           `json:"rules,omitempty"`
		Things     []inner          `json:"things,omitempty"`
		Conditions []condition      `json:"conditions,omitempty"`
		Texts      []string         `json:"texts,omitempty"`
		Lists      [][]rule         `json:"lists,omitempty"`
		Own        []own            `json:"own,omitempty"`
		Any        []map[string]any `json:"any,omitempty"`
		Numbered   []numbered       `json:"numbered,omitempty"`
	} `json:"spec"`
}

type inner struct {
	Name string `json:"name,omitempty"`
	I    int    `json:"i,omitempty"`
}

type port struct {
	Name     string `json:"name,omitempty"`
	Port     int    `json:"port"`
	Protocol string `json:"protocol,omitempty"`
}

type rule struct {
	Host string `json:"host,omitempty"`
	I    int    `json:"i,omitempty"`
}

type numbered struct {
	ID int `json:"id"`
	I  int `json:"i,omitempty"`
}

type condition struct {
	Type   string `json:"type"`
	Status string `json:"status"`
}

// own drops what it does not show.
type own struct{ A int }

func (o *own) UnmarshalJSON(b []byte) error {
	var v struct{ A int }
	err := json.Unmarshal(b, &v)
	o.A = v.A
	return err
}

func TestOverlay(t *testing.T) {
	for name, c := range map[string]struct {
		kind, spec string
		edit       func(*partial)
		want       string // the spec, or the beginning of the error
	}{
		"nothing":                 {"", `{"number":1,"x":9}`, func(p *partial) {}, `{"number":1,"x":9}`},
		"a member":                {"", `{"number":1,"x":9}`, func(p *partial) { p.Spec.Number = 2 }, `{"number":2,"x":9}`},
		"a member more":           {"", `{"x":9}`, func(p *partial) { p.Spec.Text = "a" }, `{"text":"a","x":9}`},
		"a member less":           {"", `{"text":"a","x":9}`, func(p *partial) { p.Spec.Text = "" }, `{"x":9}`},
		"deep":                    {"", `{"object":{"name":"a","x":9}}`, func(p *partial) { p.Spec.Object.Name = "b" }, `{"object":{"name":"b","x":9}}`},
		"a pointer to nil":        {"", `{"object":{"name":"a","x":9}}`, func(p *partial) { p.Spec.Object = nil }, `{}`},
		"a struct to zero":        {"", `{"zero":{"name":"a","x":9}}`, func(p *partial) { p.Spec.Zero = inner{} }, `{"zero":{"x":9}}`},
		"a struct from zero":      {"", `{"zero":{"x":9}}`, func(p *partial) { p.Spec.Zero.Name = "b" }, `{"zero":{"name":"b","x":9}}`},
		"a map":                   {"", `{"map":{"a":{"x":1},"b":{"x":2}}}`, func(p *partial) { p.Spec.Map["c"] = inner{I: 1}; delete(p.Spec.Map, "a") }, `{"map":{"b":{"x":2},"c":{"i":1}}}`},
		"null stays":              {"", `{"text":null,"x":null}`, func(p *partial) { p.Spec.Number = 1 }, `{"number":1,"text":null,"x":null}`},
		"texts":                   {"", `{"texts":["a","b"]}`, func(p *partial) { p.Spec.Texts = []string{"b", "c"} }, `{"texts":["b","c"]}`},
		"digits stay":             {"", `{"x":12345678901234567890.5,"number":1}`, func(p *partial) { p.Spec.Number = 2 }, `{"number":2,"x":12345678901234567890.5}`},
		"by name, moved":          {"", `{"things":[{"name":"a","x":1},{"name":"b","x":2}]}`, func(p *partial) { swap(p.Spec.Things) }, `{"things":[{"name":"b","x":2},{"name":"a","x":1}]}`},
		"by name, changed":        {"", `{"things":[{"name":"a","i":1,"x":1}]}`, func(p *partial) { p.Spec.Things = []inner{{"n", 0}, {"a", 2}} }, `{"things":[{"name":"n"},{"i":2,"name":"a","x":1}]}`},
		"by name, removed":        {"", `{"things":[{"name":"a","x":1},{"name":"b","x":2}]}`, func(p *partial) { p.Spec.Things = p.Spec.Things[1:] }, `{"things":[{"name":"b","x":2}]}`},
		"by name, another name":   {"", `{"things":[{"name":"a","x":1}]}`, func(p *partial) { p.Spec.Things[0].Name = "b" }, `spec.things: it is not certain`},
		"names twice":             {"", `{"things":[{"name":"a","i":1,"x":1},{"name":"a","i":2,"x":2}]}`, func(p *partial) { p.Spec.Things[1].I = 3 }, `spec.things: it is not certain`},
		"names twice before":      {"", `{"things":[{"name":"a","x":1},{"name":"a","i":2,"x":2}]}`, func(p *partial) { p.Spec.Things = p.Spec.Things[:1]; p.Spec.Things[0].I = 5 }, `spec.things: it is not certain`},
		"names twice afterwards":  {"", `{"things":[{"name":"a","x":1},{"name":"b","x":2}]}`, func(p *partial) { p.Spec.Things[1].Name = "a" }, `spec.things: it is not certain`},
		"names twice, none hides": {"", `{"things":[{"name":"a","i":1},{"name":"a","i":2}]}`, func(p *partial) { p.Spec.Things[1].I = 3 }, `{"things":[{"i":1,"name":"a"},{"i":3,"name":"a"}]}`},
		"by number, changed":      {"", `{"numbered":[{"id":1,"x":1},{"id":2,"x":2}]}`, func(p *partial) { p.Spec.Numbered[1].I = 3; swap(p.Spec.Numbered) }, `{"numbered":[{"i":3,"id":2,"x":2},{"id":1,"x":1}]}`},
		"zero is no number":       {"", `{"numbered":[{"i":7,"x":1},{"id":2,"i":8}]}`, func(p *partial) { p.Spec.Numbered[0].ID = 1; p.Spec.Numbered[1].ID = 0 }, `spec.numbered: it is not certain`},
		"the API's key":           {"v1,Pod", `{"containers":[{"name":"a","x":1},{"name":"b","x":2}]}`, func(p *partial) { p.Spec.Containers[0].Name = "c"; swap(p.Spec.Containers) }, `{"containers":[{"name":"b","x":2},{"name":"c"}]}`},
		"two keys":                {"v1,Service", `{"ports":[{"port":53,"protocol":"TCP","x":1},{"port":53,"protocol":"UDP","x":2}]}`, func(p *partial) { swap(p.Spec.Ports); p.Spec.Ports[0].Name = "u" }, `{"ports":[{"name":"u","port":53,"protocol":"UDP","x":2},{"port":53,"protocol":"TCP","x":1}]}`},
		"the default of a key":    {"v1,Service", `{"ports":[{"port":53,"protocol":"UDP","x":2},{"port":53,"protocol":"TCP","x":1}]}`, func(p *partial) { p.Spec.Ports = []port{{"new", 80, ""}, {"a", 53, ""}} }, `{"ports":[{"name":"new","port":80},{"name":"a","port":53,"x":1}]}`},
		"conditions":              {"", `{"conditions":[{"type":"A","status":"1","x":1},{"type":"B","status":"1","x":2}]}`, func(p *partial) { p.Spec.Conditions[1].Status = "2"; swap(p.Spec.Conditions) }, `{"conditions":[{"status":"2","type":"B","x":2},{"status":"1","type":"A","x":1}]}`},
		"unnamed, removed":        {"", `{"rules":[{"host":"a","x":1},{"host":"b","x":2}]}`, func(p *partial) { p.Spec.Rules = p.Spec.Rules[1:] }, `{"rules":[{"host":"b","x":2}]}`},
		"unnamed, changed":        {"", `{"rules":[{"host":"a","x":1}]}`, func(p *partial) { p.Spec.Rules[0].Host = "b" }, `spec.rules: it is not certain`},
		"removed and changed":     {"networking.k8s.io/v1,Ingress", `{"rules":[{"host":"a","http":{"paths":[1]}},{"host":"b","http":{"paths":[2]}}]}`, func(p *partial) { p.Spec.Rules = p.Spec.Rules[1:]; p.Spec.Rules[0].Host = "c" }, `spec.rules: it is not certain`},
		"unnamed, added":          {"", `{"rules":[{"host":"a","x":1}]}`, func(p *partial) { p.Spec.Rules = append([]rule{{Host: "b"}}, p.Spec.Rules...) }, `{"rules":[{"host":"b"},{"host":"a","x":1}]}`},
		"unnamed, none hides":     {"", `{"rules":[{"host":"a"},{"host":"b"}]}`, func(p *partial) { p.Spec.Rules[0].Host = "c"; p.Spec.Rules[1].Host = "d" }, `{"rules":[{"host":"c"},{"host":"d"}]}`},
		"equal, as many":          {"", `{"rules":[{"i":1,"x":1},{"i":1,"x":2}]}`, func(p *partial) { p.Spec.Rules = append([]rule{{Host: "b"}}, p.Spec.Rules...) }, `{"rules":[{"host":"b"},{"i":1,"x":1},{"i":1,"x":2}]}`},
		"equal, one less":         {"", `{"rules":[{"i":1,"x":1},{"i":1,"x":2}]}`, func(p *partial) { p.Spec.Rules = p.Spec.Rules[1:] }, `spec.rules: it is not certain`},
		"equal, one less of same": {"", `{"rules":[{"i":1,"x":1},{"i":1,"x":1}]}`, func(p *partial) { p.Spec.Rules = p.Spec.Rules[1:] }, `{"rules":[{"i":1,"x":1}]}`},
		"equal, one hides":        {"", `{"rules":[{"i":1,"x":1},{"i":1}]}`, func(p *partial) { p.Spec.Rules = p.Spec.Rules[1:] }, `spec.rules: it is not certain`},
		"equal, one more":         {"", `{"rules":[{"i":1,"x":1}]}`, func(p *partial) { p.Spec.Rules = append(p.Spec.Rules, p.Spec.Rules[0]) }, `spec.rules: it is not certain`},
		"emptied":                 {"", `{"rules":[{"x":1}]}`, func(p *partial) { p.Spec.Rules = nil }, `{}`},
		"lists in lists":          {"", `{"lists":[[{"i":1,"x":1}],[{"i":2,"x":2}]]}`, func(p *partial) { swap(p.Spec.Lists) }, `{"lists":[[{"i":2,"x":2}],[{"i":1,"x":1}]]}`},
		"lists in lists, changed": {"", `{"lists":[[{"i":1,"x":1}],[{"i":2,"x":2}]]}`, func(p *partial) { p.Spec.Lists[0][0].I = 3 }, `spec.lists: it is not certain`},
		"JSON of its own":         {"", `{"own":[{"A":1,"x":1}]}`, func(p *partial) { p.Spec.Own[0].A = 2 }, `spec.own: it is not certain`},
		"any":                     {"", `{"any":[{"a":1},{"a":2}]}`, func(p *partial) { p.Spec.Any[1]["a"] = 3 }, `{"any":[{"a":1},{"a":3}]}`},
		"zero values are known":   {"", `{"rules":[{"host":"","i":0},{"i":1}]}`, func(p *partial) { p.Spec.Rules[0].I = 2 }, `{"rules":[{"i":2},{"i":1}]}`},
		"zero values are not":     {"", `{"rules":[{"host":"a","x":false},{"i":1}]}`, func(p *partial) { p.Spec.Rules[0].I = 2 }, `spec.rules: it is not certain`},
		"a name of the server":    {"", `{"rules":[{"host":"a","\u001b[31m":1}]}`, func(p *partial) { p.Spec.Rules[0].I = 2 }, `spec.rules: it is not certain which elements were changed, removed or added, and some have members that the Go type does not know ("\x1b[31m"):`},
	} {
		t.Run(name, func(t *testing.T) {
			apiVersion, kind, _ := strings.Cut(c.kind, ",")
			object := `{"apiVersion":"` + apiVersion + `","kind":"` + kind + `","metadata":{"name":"a"},"spec":` + c.spec + `}`
			s, err := stateOf[partial]([]byte(object))
			if err != nil {
				t.Fatal(err)
			}
			c.edit(&s.object)
			after, err := merge.Tree(s.object)
			if err != nil {
				t.Fatal(err)
			}
			result, err := s.overlay(after)
			var ambiguous *AmbiguousError
			if errors.As(err, &ambiguous) {
				if !strings.HasPrefix(err.Error(), c.want) {
					t.Errorf("error %v, want %s", err, c.want)
				}
				return
			}
			spec, _ := codec.Encode(result["spec"])
			if diff := cmp.Diff(c.want, string(spec)); err != nil || diff != "" {
				t.Errorf("%v (-want +got):\n%s", err, diff)
			}
		})
	}
}

func swap[E any](list []E) { list[0], list[1] = list[1], list[0] }
