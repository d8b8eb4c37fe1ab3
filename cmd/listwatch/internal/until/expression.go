package until

import (
	"errors"
	"fmt"

	"github.com/itchyny/gojq"

	"github.com/listwatch/listwatch/internal/filter"
	"github.com/listwatch/listwatch/internal/jq"
)

// expression is a jq expression over all objects. It is made of all(F), any(F), count(F) and
// count, where F is about one object: so no more than the truth of each F is kept of an object.
type expression struct {
	code  *gojq.Code // its variables are the values of parts
	parts []part
}

// part is one call in an expression.
type part struct {
	of        string // all, any or count
	condition int    // F, as one of the verdict's; -1 = every object
}

// parse reads a condition, and appends those that it consists of to v.
func (v *Verdict) parse(text string) (condition, error) {
	c, err := parseCondition(text)
	if !errors.Is(err, errOther) {
		return c, err
	}
	if filter.Assigns(text) {
		return c, errors.New("a single = assigns in jq, and that is true of every object: compare by ==")
	}
	query, err := gojq.Parse(text)
	if err != nil || !aggregates(query) {
		if c.code, err = jq.JQCode(text); err != nil {
			err = fmt.Errorf("want %s; as an expression: %w", conditionHelp, err)
		}
		return c, err
	}
	c.whole = &expression{}
	if err := v.replace(query, c.whole); err != nil {
		return c, err
	}
	names, sample := make([]string, len(c.whole.parts)), make([]any, len(c.whole.parts))
	for i, p := range c.whole.parts {
		if names[i], sample[i] = variable(i), false; p.of == "count" {
			sample[i] = 0
		}
	}
	if c.whole.code, err = gojq.Compile(query, gojq.WithVariables(names)); err != nil {
		return c, err
	}
	return c, jq.Decides(c.whole.code, sample...)
}

func variable(i int) string { return fmt.Sprintf("$part%d", i) }

// aggregate returns the call of all(F), any(F), count(F) or count that t is, nil if it is
// another kind of term.
func aggregate(t *gojq.Term) *gojq.Func {
	if t == nil || t.Type != gojq.TermTypeFunc || len(t.SuffixList) > 0 {
		return nil
	}
	switch f := t.Func; {
	case (f.Name == "all" || f.Name == "any" || f.Name == "count") && len(f.Args) == 1, f.Name == "count" && len(f.Args) == 0:
		return f
	}
	return nil
}

// aggregates reports whether q begins with a call that is about all objects.
func aggregates(q *gojq.Query) bool {
	switch {
	case q == nil:
		return false
	case q.Left != nil:
		return aggregates(q.Left) || q.Op != gojq.OpPipe && aggregates(q.Right)
	case q.Term != nil && q.Term.Type == gojq.TermTypeQuery && len(q.Term.SuffixList) == 0:
		return aggregates(q.Term.Query)
	}
	return aggregate(q.Term) != nil
}

// replace puts a variable in place of each call in q, and the call into e.
func (v *Verdict) replace(q *gojq.Query, e *expression) error {
	if q.Left != nil {
		if err := v.replace(q.Left, e); err != nil || q.Op == gojq.OpPipe {
			return err
		}
		return v.replace(q.Right, e)
	}
	switch f := aggregate(q.Term); {
	case f != nil:
		p := part{of: f.Name, condition: -1}
		if len(f.Args) == 1 {
			text := f.Args[0].String()
			code, err := jq.JQCode(text)
			if err != nil {
				return err
			}
			p.condition = len(v.conditions)
			v.conditions = append(v.conditions, condition{text: text, code: code, strict: true})
		}
		q.Term.Func = &gojq.Func{Name: variable(len(e.parts))}
		e.parts = append(e.parts, p)
		return nil
	case q.Term == nil || len(q.Term.SuffixList) > 0:
	case q.Term.Type == gojq.TermTypeQuery:
		return v.replace(q.Term.Query, e)
	case q.Term.Type == gojq.TermTypeUnary, q.Term.Type == gojq.TermTypeNumber, q.Term.Type == gojq.TermTypeTrue, q.Term.Type == gojq.TermTypeFalse:
		return nil
	}
	return fmt.Errorf("%s: an expression over all objects is made of all(...), any(...), count(...), numbers and operators", q)
}

// value returns what p is now. all(F) is false where there is no object.
func (v *Verdict) value(p part) any {
	n := len(v.objects)
	if p.condition >= 0 {
		n = v.holding[p.condition]
	}
	switch p.of {
	case "all":
		return n > 0 && n == len(v.objects) && v.complete()
	case "any":
		return n > 0
	}
	return n
}

// true reports whether e holds of all objects, as far as its parts do not fail for any.
func (v *Verdict) true(e *expression) bool {
	var values []any
	for _, p := range e.parts {
		if p.condition >= 0 && v.failing[p.condition] > 0 {
			return false // not known
		}
		values = append(values, v.value(p))
	}
	holds, err := jq.True(v.Ended, e.code, nil, values...)
	return err == nil && holds
}
