package compat_test

import (
	"path"
	"regexp"
	"testing"
)

// difference is one that is accepted. Where it applies, what the expression
// matches is replaced, and a line of which nothing is left is dropped.
type difference struct {
	story  string         // pattern of the story's name, as of path.Match
	step   string         // pattern of the step; "" = every step
	match  *regexp.Regexp // matched line by line
	with   string         // replacement
	reason string
}

// differences are all differences between apitest and kube-apiserver that the
// stories accept, with the reason.
var differences = []difference{
	{
		story: "*", step: "requests*", match: regexp.MustCompile(`-> ([0-9]+) application/vnd\.kubernetes\.protobuf(;stream=watch)?$`), with: "-> $1 application/json",
		reason: "apitest answers in JSON where a client would rather have protobuf: all take both",
	},
	{
		story: "Random", step: "*", match: regexp.MustCompile(`^(\s+"description"): ".*",$`), with: "$1",
		reason: "the descriptions of a Table's columns are the API's documentation, which apitest does not carry; no client shows them",
	},
	{
		story: "Random", step: "*", match: regexp.MustCompile(`^( "message"): "(?:(?:unable to parse requirement: )?found '=+', expected: .*|unable to parse requirement: parse label selector .*)",$`), with: "$1: NO SELECTOR",
		reason: "what is wrong with a label selector is said by package kube's parser in its own words",
	},
	{
		story: "KubectlWrite", step: "21 patch*", match: regexp.MustCompile(`(patch: Invalid value: )".*"(: json: cannot unmarshal )`), with: "$1OBJECT$2",
		reason: "the error quotes the object after the patch, whose members stand in another order",
	},
	{
		story: "Random", step: "*patch *", match: regexp.MustCompile(`^(\s+"message": ".*Invalid value: )\\"(map\[|\{).*$`), with: "$1OBJECT",
		reason: "what cannot be decoded after a patch is quoted, and then said by Go's decoder or by that of package schema",
	},
	{
		story: "Random", step: "apply *", match: regexp.MustCompile(`^( "message": "error )(encoding patch: yaml: .*|decoding YAML: it is not YAML)",$`), with: "$1",
		reason: "what is wrong with a YAML document is said by the parser, whose words apitest does not repeat",
	},
	{
		story: "KubectlDiscover", step: "?? explain*", match: regexp.MustCompile(`^(    [^\t]*|DESCRIPTION:|)$`), with: "",
		reason: "apitest's OpenAPI has the fields and types, and no documentation of built-in kinds: it would be some megabytes",
	},
	{
		story: "KubectlDiscover", step: "?? auth can-i*--as*", match: regexp.MustCompile(`^(exit [01]|yes|no)$`), with: "",
		reason: "apitest lets everybody do everything: there is no RBAC, and rights are tested by faults (403)",
	},
	{
		story: "KubectlDiscover", step: "?? auth whoami", match: regexp.MustCompile(`^(Username|UID|Groups) .*$`), with: "",
		reason: "the servers have users of different names",
	},
	{
		story: "KubectlDiscover", step: "?? api-*", with: "",
		match: regexp.MustCompile(`^(.*\b(apiregistration|certificates|flowcontrol\.apiserver|node|resource|storagemigration)\.k8s\.io.*|autoscaling/v1|` +
			`(bindings|componentstatuses|mutatingadmissionpolic|validatingadmissionpolic|ipaddresses|servicecidrs|csi|volumeattachments|volumeattributesclasses).*)$`),
		reason: "apitest serves what programs list and watch, not every resource; AddResource adds others",
	},
}

// TestDifferences prints the table, with -v, and wants a reason for each.
func TestDifferences(t *testing.T) {
	for _, d := range differences {
		t.Logf("%s, step %q, %s: %s", d.story, d.step, d.match, d.reason)
		if d.reason == "" {
			t.Errorf("%s, %s: no reason", d.story, d.match)
		}
	}
}

func accept(story, step string, lines []string) []string {
	var kept []string
	for _, line := range lines {
		dropped := false
		for _, d := range differences {
			if ok, _ := path.Match(d.story, story); !ok {
				continue
			}
			if ok, _ := path.Match(d.step, step); !ok && d.step != "" {
				continue
			}
			if d.match.MatchString(line) {
				line = d.match.ReplaceAllString(line, d.with)
				dropped = dropped || line == ""
			}
		}
		if !dropped {
			kept = append(kept, line)
		}
	}
	return kept
}
