package pods

import (
	"slices"
	"strconv"
	"strings"

	"github.com/listwatch/listwatch/apitest/internal/rules"
)

// RefuseJobModes validates how the Job at path of its spec completes, who manages it, and its
// policies for pods that fail or succeed.
func RefuseJobModes(r *rules.Refusals, path string, spec map[string]any) {
	r.Natural(path, spec, "backoffLimitPerIndex", "maxFailedIndexes")
	failed, limited := spec["maxFailedIndexes"].(int64)
	perIndex := rules.Has(spec, "backoffLimitPerIndex")
	if limited && !perIndex {
		r.Required(path+".backoffLimitPerIndex", "when maxFailedIndexes is specified")
	}
	if by, ok := spec["managedBy"].(string); ok {
		r.DomainPath(path+".managedBy", by, 63)
	}
	const most = 100_000
	completions, counted := spec["completions"].(int64)
	switch mode, set := spec["completionMode"].(string); {
	case mode == "Indexed":
		if !counted {
			r.Required(path+".completions", "when completion mode is Indexed")
		}
		if n := rules.IntAt(spec, "parallelism"); n > most {
			r.Invalid(path+".parallelism", n, "must be less than or equal to 100000 when completion mode is Indexed")
		}
		if counted && failed > completions {
			r.Invalid(path+".maxFailedIndexes", failed, "must be less than or equal to completions")
		}
		if failed > most {
			r.Invalid(path+".maxFailedIndexes", failed, "must be less than or equal to 100000")
		}
	case mode == "NonIndexed", !set: // it has no default in a CronJob
		if perIndex {
			r.Invalid(path+".backoffLimitPerIndex", spec["backoffLimitPerIndex"], "requires indexed completion mode")
		}
		if limited {
			r.Invalid(path+".maxFailedIndexes", failed, "requires indexed completion mode")
		}
	default:
		r.Unsupported(path+".completionMode", mode, "Indexed", "NonIndexed")
	}
	replacement := []string{"Failed", "TerminatingOrFailed"}
	if p := rules.ObjectAt(spec, "podFailurePolicy"); p != nil {
		refuseFailurePolicy(r, path, spec, p)
		replacement = replacement[:1]
	}
	if s, ok := spec["podReplacementPolicy"].(string); ok && !slices.Contains(replacement, s) {
		r.Unsupported(path+".podReplacementPolicy", s, replacement...)
	}
	if p := rules.ObjectAt(spec, "successPolicy"); p != nil {
		if rules.TextAt(spec, "completionMode") != "Indexed" {
			r.Invalid(path+".successPolicy", p, "requires indexed completion mode")
		} else if counted {
			refuseSuccessPolicy(r, path+".successPolicy", p, completions)
		}
	}
}

func refuseFailurePolicy(r *rules.Refusals, path string, spec, policy map[string]any) {
	names := map[string]bool{}
	for _, list := range [...]string{"containers", "initContainers"} {
		for c := range rules.ObjectsAt(rules.ObjectAt(rules.ObjectAt(spec, "template"), "spec"), list) {
			names[rules.TextAt(c, "name")] = true
		}
	}
	for at, rule := range rules.Elements(path+".podFailurePolicy", policy, "rules") {
		if rules.TextAt(rule, "action") == "FailIndex" && !rules.Has(spec, "backoffLimitPerIndex") {
			r.Invalid(at+".action", "FailIndex", "requires the backoffLimitPerIndex to be set")
		}
		r.Chosen(at, rule, "action", "Count", "FailIndex", "FailJob", "Ignore")
		codes := rules.ObjectAt(rule, "onExitCodes")
		if codes != nil {
			refuseExitCodes(r, at+".onExitCodes", codes, names)
		}
		for at, c := range rules.Elements(at, rule, "onPodConditions") {
			r.Each(at+".type", rules.TextAt(c, "type"), rules.QualifiedName(rules.TextAt(c, "type")))
			r.Chosen(at, c, "status", "False", "True", "Unknown")
		}
		switch conditions := !rules.Lacks(rule, "onPodConditions"); {
		case codes != nil && conditions:
			r.Add("FieldValueInvalid", at, "Invalid value: specifying both OnExitCodes and OnPodConditions is not supported")
		case codes == nil && !conditions:
			r.Add("FieldValueInvalid", at, "Invalid value: specifying one of OnExitCodes and OnPodConditions is required")
		}
	}
}

func refuseExitCodes(r *rules.Refusals, at string, codes map[string]any, names map[string]bool) {
	r.Chosen(at, codes, "operator", "In", "NotIn")
	if name, ok := codes["containerName"].(string); ok && !names[name] {
		r.Invalid(at+".containerName", name, "must be one of the container or initContainer names in the pod template")
	}
	values := rules.ListAt(codes, "values")
	if len(values) == 0 {
		r.Invalid(at+".values", values, "at least one value is required")
	}
	seen, last, ordered := map[int64]bool{}, int64(-1<<31), true
	for i, v := range values {
		n, _ := v.(int64)
		if n == 0 && codes["operator"] == "In" {
			r.Invalid(indexed(at+".values", i), n, "must not be 0 for the In operator")
		}
		if seen[n] {
			r.Duplicate(indexed(at+".values", i), n)
		}
		ordered = ordered && n >= last
		seen[n], last = true, n
	}
	if !ordered {
		r.Invalid(at+".values", values, "must be ordered")
	}
}

func refuseSuccessPolicy(r *rules.Refusals, path string, policy map[string]any, completions int64) {
	if rules.Lacks(policy, "rules") {
		r.Required(path+".rules", "at least one rules must be specified when the successPolicy is specified")
	}
	for at, rule := range rules.Elements(path, policy, "rules") {
		text, some := rule["succeededIndexes"].(string)
		count, counted := rule["succeededCount"].(int64)
		if !some && !counted {
			r.Required(at, "at least one of succeededCount or succeededIndexes must be specified")
		}
		total, ok := indexesOf(text, completions)
		if some && !ok {
			r.Invalid(at+".succeededIndexes", text, "error parsing succeededIndexes")
		}
		if !counted {
			continue
		}
		r.Natural(at, rule, "succeededCount")
		if count > completions {
			r.Invalid(at+".succeededCount", count, "must be less than or equal to the number of specified completions")
		}
		if some && count > total {
			r.Invalid(at+".succeededCount", count, "must be less than or equal to the number of indexes in the specified succeededIndexes field")
		}
	}
}

// indexesOf counts the indexes of a text such as 1,3-5. It returns false if the text is
// invalid, is not in order, or exceeds the completions.
func indexesOf(text string, completions int64) (total int64, ok bool) {
	if text == "" {
		return 0, true
	}
	last := int64(-1)
	for part := range strings.SplitSeq(text, ",") {
		from, to, ranged := strings.Cut(part, "-")
		first, err := strconv.ParseInt(from, 10, 32)
		end := first
		if err == nil && ranged {
			end, err = strconv.ParseInt(to, 10, 32)
		}
		if err != nil || first <= last || end < first || end >= completions || ranged && end == first {
			return 0, false
		}
		total += end - first + 1
		last = end
	}
	return total, true
}
