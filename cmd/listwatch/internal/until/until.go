package until

import (
	"errors"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/pflag"

	"github.com/listwatch/listwatch/internal/exit"
	"github.com/listwatch/listwatch/internal/printable"
	"github.com/listwatch/listwatch/internal/record"
	"github.com/listwatch/listwatch/internal/target"
	"github.com/listwatch/listwatch/jsonpath"
	"github.com/listwatch/listwatch/kube"
	"github.com/listwatch/listwatch/watch"
)

// Flags are the flags that end a watch by what the objects have come to, as
// kubectl wait does.
type Flags struct {
	Until    []string
	UntilAny []string
	FailOn   []string
}

const conditionHelp = "condition=NAME[=VALUE], jsonpath={PATH}[=VALUE], create, delete, or count>=N (also = < <= > !=)"

func (w *Flags) Register(f *pflag.FlagSet) {
	f.StringArrayVar(&w.Until, "until", nil, "end, with exit code 0, when this holds for every object: "+conditionHelp+"; of several all must hold")
	f.StringArrayVar(&w.UntilAny, "until-any", nil, "the same, and of several one is enough")
	f.StringArrayVar(&w.FailOn, "fail-on", nil, "end, with exit code 3, when this holds for any object; of several one is enough")
}

// Compile checks the flags; nil without any.
func (w *Flags) Compile() (*Verdict, error) {
	if len(w.Until)+len(w.UntilAny)+len(w.FailOn) == 0 {
		return nil, nil
	}
	v := &Verdict{objects: map[objectKey][]bool{}, named: map[objectKey]bool{}}
	for _, f := range []struct {
		flag  string
		texts []string
		into  *[]int
	}{{"--until", w.Until, &v.all}, {"--until-any", w.UntilAny, &v.any}, {"--fail-on", w.FailOn, &v.fail}} {
		for _, text := range f.texts {
			c, err := parseCondition(text)
			if err != nil {
				return nil, exit.Usage("%s %q: %w", f.flag, printable.Clip(text), err)
			}
			*f.into = append(*f.into, len(v.conditions))
			v.conditions = append(v.conditions, c)
		}
	}
	return v, nil
}

// Wants reports whether an end is asked for, not only a failure.
func (w *Flags) Wants() bool { return len(w.Until)+len(w.UntilAny) > 0 }

// condition is one expression of --until and its like. Of its kinds, create and
// delete ask whether objects exist, count how many; the others look at each.
type condition struct {
	text   string
	create bool
	delete bool
	count  string // the comparison; empty = another kind
	n      int
	name   string // of a condition in the status
	path   *jsonpath.Template
	value  string // wanted; empty of a path = anything
	any    bool
}

var counted = regexp.MustCompile(`^count\s*(>=|<=|==|!=|=|>|<)\s*([0-9]+)$`)

func parseCondition(text string) (c condition, err error) {
	c.text = text
	kind, rest, _ := strings.Cut(text, "=")
	switch m := counted.FindStringSubmatch(text); {
	case m != nil:
		c.count = m[1]
		if c.n, err = strconv.Atoi(m[2]); err != nil {
			c.n = math.MaxInt
		}
		return c, nil
	case text == "create":
		c.create = true
		return c, nil
	case text == "delete":
		c.delete = true
		return c, nil
	case kind == "condition" && rest != "":
		name, value, given := strings.Cut(rest, "=")
		c.name, c.value = name, "True"
		if given {
			c.value = value
		}
		if name == "" || c.value == "" {
			return c, errors.New("want condition=NAME or condition=NAME=VALUE")
		}
		return c, nil
	case kind == "jsonpath" && rest != "":
		path := rest
		c.any = true
		if i := strings.LastIndexByte(rest, '}'); i >= 0 && i+1 < len(rest) {
			value, ok := strings.CutPrefix(rest[i+1:], "=")
			if !ok {
				return c, errors.New("want jsonpath={PATH} or jsonpath={PATH}=VALUE")
			}
			if value == "" {
				return c, errors.New("want a value behind the =; without the = any value will do")
			}
			path, c.value, c.any = rest[:i+1], value, false
		} else if i < 0 {
			return c, errors.New("want the path in braces: jsonpath={.status.phase}=Running")
		}
		c.path, err = jsonpath.ParsePath(path)
		return c, err
	}
	return c, errors.New("want " + conditionHelp)
}

// holds reports whether c holds for one object.
func (c *condition) holds(o map[string]any) bool {
	switch {
	case c.create:
		return true
	case c.name != "":
		return c.inStatus(o)
	case c.path != nil:
		found, err := c.path.Find(o)
		if err != nil || len(found) != 1 || len(found[0]) == 0 {
			return false
		}
		text, err := jsonpath.Text(found[0][0])
		if c.any {
			return err == nil && text != ""
		}
		return err == nil && len(found[0]) == 1 && text == c.value
	}
	return false
}

// inStatus looks for a condition of the status. One that speaks of an older
// generation than the object has does not count.
func (c *condition) inStatus(o map[string]any) bool {
	meta, _ := o["metadata"].(map[string]any)
	status, _ := o["status"].(map[string]any)
	list, _ := status["conditions"].([]any)
	for _, e := range list {
		e, _ := e.(map[string]any)
		if name, _ := e["type"].(string); !strings.EqualFold(name, c.name) {
			continue
		}
		generation, _ := meta["generation"].(int64)
		observed, ok := e["observedGeneration"].(int64)
		if !ok {
			observed, ok = status["observedGeneration"].(int64)
		}
		if ok && observed < generation {
			return false
		}
		value, _ := e["status"].(string)
		return strings.EqualFold(value, c.value)
	}
	return false
}

type objectKey struct {
	kube.Resource
	kube.Key
}

// Verdict follows the objects and says when the conditions hold. It is for one
// goroutine.
type Verdict struct {
	conditions     []condition
	all, any, fail []int // of conditions
	objects        map[objectKey][]bool
	named          map[objectKey]bool // those that were asked for by name
	unsynced       int                // streams that have not told all
	Synced         bool
}

// Expect notes what is followed.
func (v *Verdict) Expect(ts []target.Target, streams int) {
	v.unsynced = streams
	for _, t := range ts {
		if t.Namespace == "" && t.Resource.Namespaced {
			continue // a name in all namespaces may be of any number of objects
		}
		for _, n := range t.Wanted() {
			v.named[objectKey{target.Family(t.Resource), kube.Key{Namespace: t.Namespace, Name: n}}] = true
		}
	}
}

// See takes in a record, and returns why the watch ends, nil if it goes on.
func (v *Verdict) See(r *record.Record) error {
	switch {
	case r.Type == string(watch.Synced):
		if v.unsynced--; v.unsynced == 0 {
			v.Synced = true
		}
	case r.IsObject():
		key := objectKey{target.Family(r.Resource), r.Key()}
		if r.Type == string(watch.Deleted) {
			delete(v.objects, key)
		} else {
			m, err := record.MapOf(r, false)
			if err != nil {
				return nil // an object that cannot be read fulfils nothing
			}
			holds := make([]bool, len(v.conditions))
			for i := range v.conditions {
				holds[i] = v.conditions[i].holds(m)
			}
			v.objects[key] = holds
		}
		for _, i := range v.fail {
			if v.fails(i, key, r) {
				return &exit.Error{Code: exit.CodeMatched, Err: fmt.Errorf("--fail-on %s: %s", v.conditions[i].text, record.KubectlName(r.Resource, r.ID.Name))}
			}
		}
	default:
		return nil
	}
	if v.Synced && v.met() {
		return exit.ErrAskedFor
	}
	return nil
}

// fails reports whether condition i holds because of the object of r.
func (v *Verdict) fails(i int, key objectKey, r *record.Record) bool {
	c := &v.conditions[i]
	switch {
	case c.delete:
		return r.Type == string(watch.Deleted)
	case c.count != "":
		return c.counts(len(v.objects))
	}
	holds, ok := v.objects[key]
	return ok && holds[i]
}

// met reports whether an end has come that was asked for.
func (v *Verdict) met() bool {
	if len(v.all) > 0 && !slices.ContainsFunc(v.all, func(i int) bool { return !v.holds(i) }) {
		return true
	}
	return slices.ContainsFunc(v.any, v.holds)
}

// holds reports whether condition i holds for every object that there is, of which
// there must be one, and each that was named.
func (v *Verdict) holds(i int) bool {
	c := &v.conditions[i]
	switch {
	case c.count != "":
		return c.counts(len(v.objects))
	case c.delete:
		return len(v.objects) == 0
	case len(v.objects) == 0:
		return false
	}
	for key := range v.named {
		if v.objects[key] == nil {
			return false
		}
	}
	for _, holds := range v.objects {
		if !holds[i] {
			return false
		}
	}
	return true
}

func (c *condition) counts(n int) bool {
	switch c.count {
	case ">=":
		return n >= c.n
	case "<=":
		return n <= c.n
	case ">":
		return n > c.n
	case "<":
		return n < c.n
	case "!=":
		return n != c.n
	}
	return n == c.n
}
