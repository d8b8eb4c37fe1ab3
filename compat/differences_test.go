package compat_test

import (
	"path"
	"regexp"
	"strings"
	"testing"
)

// difference is one that is accepted. Where it applies, what the expression
// matches is replaced, and a line of which nothing is left is dropped.
type difference struct {
	story  string         // pattern of the story's name, as of path.Match, with / as any letter
	step   string         // the same of the step; "" = every step
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
		story: "Random", step: "*", match: regexp.MustCompile(`^( "message"): "(?:unable to parse requirement: .*|found '.*', expected: .*|<nil>: Invalid value: .*)",$`), with: "$1: NO SELECTOR",
		reason: "what is wrong with a label selector is said by package kube's parser in its own words",
	},
	{
		story: "Kubectl*Write", step: `*"replicas":"many"*`, match: regexp.MustCompile(`(patch: Invalid value: )".*"(: json: cannot unmarshal )`), with: "$1OBJECT$2",
		reason: "the error quotes the object after the patch, whose members stand in another order",
	},
	{
		story: "Random", step: "*", match: regexp.MustCompile(`(if it was previously negative\)).*$`), with: "$1",
		reason: "a pod that may not change so is refused with a diff of its spec in the words of Go",
	},
	{
		story: "Random", step: "*", match: regexp.MustCompile(`(Invalid value: )\{.*\}(: field is immutable)`), with: "${1}OBJECT$2",
		reason: "an object that may not change is quoted with the names that its members have in Go",
	},
	{
		story: "Random", step: "scale *", match: regexp.MustCompile(`^(\s+"message": ".*Invalid value: )\\"(map\[|\{).*$`), with: "$1OBJECT",
		reason: "as for patches of other things",
	},
	{
		story: "Random", step: "status *", match: regexp.MustCompile(`^(\s+"message": ".*Invalid value: )\\"(map\[|\{).*$`), with: "$1OBJECT",
		reason: "as for patches of other things",
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
		story: "Kubectl*Discover", step: "?? explain*", match: regexp.MustCompile(`^(    [^\t]*|DESCRIPTION:|)$`), with: "",
		reason: "apitest's OpenAPI has the fields and types, and no documentation of built-in kinds: it would be some megabytes",
	},
	{
		story: "Kubectl*Discover", step: "?? auth can-i*--as*", match: regexp.MustCompile(`^(exit [01]|yes|no)$`), with: "",
		reason: "apitest lets everybody do everything: there is no RBAC, and rights are tested by faults (403)",
	},
	{
		story: "Kubectl*Discover", step: "?? auth whoami", match: regexp.MustCompile(`^(Username|UID|Groups) .*$`), with: "",
		reason: "the servers have users of different names",
	},
	{
		story: "Kubectl*Discover", step: "?? api-*", with: "",
		match:  regexp.MustCompile(`^(apiregistration\.k8s\.io/v1|apiservices\b.*|componentstatuses\b.*|autoscaling/v1)$`),
		reason: "apitest has no API servers behind it, nor the old way to ask for autoscalers and for the health of components",
	},
	{
		story: "Kubectl*Discover", step: "?? explain*plaintext-openapiv2", match: regexp.MustCompile(`^.*$`), with: "",
		reason: "apitest has OpenAPI v3, which is what kubectl asks for of itself, and not v2",
	},
	{
		story: "Kubectl*Discover", step: "?? auth can-i --list*", match: regexp.MustCompile(`^.*\[\].*$`), with: "",
		reason: "apitest lets everybody do everything: there is no RBAC, and so no rules to list but one",
	},
	{
		story: "Kubectl*Discover", step: "*version*", match: regexp.MustCompile(`"(buildDate|compiler|gitCommit|gitTreeState|goVersion)":"[^"]*",`), with: "",
		reason: "each server is a build of its own",
	},
	{
		story: "Kubectl*Discover", step: "?? get --raw /apis", with: "",
		match:  regexp.MustCompile(`\{"name":"apiregistration\.k8s\.io".*?\}\]\},|,\{"groupVersion":"autoscaling/v1","version":"v1"\}`),
		reason: "apitest has no API servers behind it, nor the old way to ask for autoscalers and for the health of components",
	},
	{
		story: "Kubectl*Discover", step: "?? get --raw /livez*", match: regexp.MustCompile(`^(\[\+\].*|livez check passed|ok)$`), with: "",
		reason: "apitest has fewer parts to check",
	},
	{
		story: "Kubectl*Discover", step: "?? cluster-info dump*", match: regexp.MustCompile(`"items":(null|\[\])`), with: `"items":[]`,
		reason: "a list without items is null for who decodes protobuf, and empty for who decodes JSON; apitest answers in JSON",
	},
	{
		story: "Kubectl*Create", step: "?? create*token*", match: regexp.MustCompile(`^(compat-token|TOKEN)$`), with: "TOKEN",
		reason: "apitest signs nothing: the token that it takes is the one that it gives",
	},
	{
		story: "Kubectl*Create", step: "* ds agent*", match: regexp.MustCompile(`^(  annotations:|    deprecated\.daemonset\.template\.generation: "1"|Annotations:  (<none>|deprecated\.daemonset\.template\.generation: 1))$`), with: "",
		reason: "an annotation that nothing has read since extensions/v1beta1 is gone",
	},
	{
		story: "Kubectl*Create", step: "* pvc disk*", match: regexp.MustCompile(`^(  finalizers:|  - kubernetes\.io/pvc-protection|Finalizers:  \[.*\])$`), with: "",
		reason: "nothing runs beside apitest, so that nobody would take away the finalizer that admission gives a claim",
	},
	{
		story: "Kubectl*Node", step: "* node*", with: "",
		match: regexp.MustCompile(`,"taints":\[\{"effect":"NoSchedule","key":"node\.kubernetes\.io/not-ready"\}\]|^(status:|  (daemonEndpoints|nodeInfo|taints):|  - effect: NoSchedule|    key: node\.kubernetes\.io/not-ready|` +
			`    kubeletEndpoint:|      Port: 0|    [a-zA-Z]+: ""|Taints:  (<none>|node\.kubernetes\.io/not-ready:NoSchedule))$`),
		reason: "nothing runs beside apitest, so that nobody would take away the taint that admission gives a node; nor has a node an empty status before a kubelet fills it",
	},
	{
		story: "Kubectl*Delete", step: "?? create * late", match: regexp.MustCompile(`^.*$`), with: "",
		reason: "apitest empties and removes a namespace itself, as the controllers of a cluster do; beside this kube-apiserver there are none",
	},
	{
		story: "Kubectl*Delete", step: "?? get ns * -o *", match: regexp.MustCompile(`^.*$`), with: "",
		reason: "apitest empties and removes a namespace itself, as the controllers of a cluster do; beside this kube-apiserver there are none",
	},
	{
		story: "Kubectl*Delete", step: "* pod bound *", match: regexp.MustCompile(`^.*$`), with: "",
		reason: "apitest has no kubelets: a Pod is gone when it is deleted, also one that is bound to a node",
	},
	{
		story: "Kubectl*Kubelet", step: "*", with: "",
		match:  regexp.MustCompile(`this server runs no containers|pod worker does not have a host assigned|address not allowed|(Error from server )?\((MethodNotAllowed|BadRequest)\): |the server does not allow this method on the requested resource`),
		reason: "apitest has no kubelets to ask: logs say so, and exec, attach, port-forward, cp and proxy are refused in its own words",
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

// like is path.Match for names that are not paths.
func like(pattern, name string) bool {
	flat := strings.NewReplacer("/", "|")
	ok, err := path.Match(flat.Replace(pattern), flat.Replace(name))
	return ok && err == nil
}

func accept(story, step string, lines []string) []string {
	var kept []string
	for _, line := range lines {
		dropped := false
		for _, d := range differences {
			if !like(d.story, story) || d.step != "" && !like(d.step, step) {
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
