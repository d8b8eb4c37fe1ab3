package until

import (
	"errors"
	"math"
	"regexp"
	"strconv"
	"strings"

	"github.com/itchyny/gojq"
	"github.com/spf13/pflag"

	"github.com/listwatch/listwatch/internal/exit"
	"github.com/listwatch/listwatch/internal/printable"
	"github.com/listwatch/listwatch/jsonpath"
)

// Flags are the flags that end a watch by the state of the objects, as kubectl wait
// does.
type Flags struct {
	Until    []string
	UntilAny []string
	FailOn   []string
}

// Help explains the conditions.
const Help = `

Conditions of --until, --until-any and --fail-on, which are evaluated once all objects
are known:
  condition=NAME[=VALUE]   a condition of the status, by default True
  jsonpath={PATH}[=VALUE]  a field
  create, delete           all objects exist; none exists
  rollout                  complete, as in kubectl rollout status; ignores
                           objects of other types, such as pods
  count>=N                 the number of objects; also = < <= > !=
  .status.phase == "Failed"
                           any jq expression over one object
  count(.status.phase == "Failed") >= 3 or all(.spec.paused)
                           over all objects: all(...), any(...), count(...)`

const conditionHelp = "condition=NAME[=VALUE], jsonpath={PATH}[=VALUE], create, delete, rollout, count>=N (also = < <= > !=), or a jq expression"

func (w *Flags) Register(f *pflag.FlagSet) {
	f.StringArrayVar(&w.Until, "until", nil, "end with exit code 0 when this condition holds for every object; may be repeated: then all conditions must hold")
	f.StringArrayVar(&w.UntilAny, "until-any", nil, "end with exit code 0 when one of these conditions holds for every object")
	f.StringArrayVar(&w.FailOn, "fail-on", nil, "end with exit code 3 when this condition holds for any object; may be repeated: one condition is enough")
}

// Compile checks the flags; nil without any.
func (w *Flags) Compile() (*Verdict, error) {
	if len(w.Until)+len(w.UntilAny)+len(w.FailOn) == 0 {
		return nil, nil
	}
	v := &Verdict{objects: map[objectKey]*state{}, named: map[objectKey]bool{}}
	for _, f := range []struct {
		flag  string
		texts []string
		into  *[]int
	}{{"--until", w.Until, &v.all}, {"--until-any", w.UntilAny, &v.any}, {"--fail-on", w.FailOn, &v.fail}} {
		for _, text := range f.texts {
			c, err := v.parse(text)
			switch {
			case err != nil:
				return nil, exit.Usage("%s %q: %w", f.flag, printable.Clip(text), err)
			case c.code != nil && f.flag == "--fail-on":
				c.strict = true
			case c.rollout && f.flag == "--fail-on":
				return nil, exit.Usage("--fail-on rollout: --until rollout ends with exit code 1 when a rollout fails: give that")
			}
			*f.into = append(*f.into, len(v.conditions))
			v.conditions = append(v.conditions, c)
		}
	}
	v.holding, v.failing = make([]int, len(v.conditions)), make([]int, len(v.conditions))
	return v, nil
}

// Wants reports whether the flags ask for an end, and not only for a failure.
func (w *Flags) Wants() bool { return len(w.Until)+len(w.UntilAny) > 0 }

// condition is one expression of --until, --until-any or --fail-on. create and delete
// check whether objects exist, count checks how many; the others check each object.
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

	rollout bool        // is complete
	code    *gojq.Code  // over an object
	strict  bool        // the run does not end well while code fails for an object
	whole   *expression // over all objects
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
	case text == "rollout":
		c.rollout = true
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
	return c, errOther
}

// errOther is the error for a text that may be a jq expression.
var errOther = errors.New("another condition")

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

// inStatus looks for a condition of the status. One with an older observedGeneration than
// the generation of the object does not count.
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
