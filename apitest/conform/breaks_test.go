package conform

import "github.com/listwatch/listwatch/apitest"

// broken are servers that break each rule, in one way or several.
func broken() map[string][]fault {
	lostUpdates := overlooks("metadata.resourceVersion")
	bookmarks := adds("GET", "allowWatchBookmarks", "true")
	keeps := sends(func(o map[string]any) {
		if data, ok := o["data"].(map[string]any); ok && o["kind"] != nil {
			data["j"] = "1"
		}
	})
	ownerless := hides("managedFields")
	gated := func(f fault) fault {
		f.options = func(o *apitest.Options) { o.ShardedListAndWatch = true }
		return f
	}
	return map[string][]fault{
		"list shows every write, sorted by name":                   {reversed(), answers(`"items":\[\]`, `"items":null`)},
		"list takes revisions as documented":                       {ignores("resourceVersionMatch"), ignores("resourceVersion", "resourceVersionMatch")},
		"pages share one snapshot":                                 {ignores("limit"), answers(`"remainingItemCount":[0-9]+`, `"remainingItemCount":9`)},
		"remaining items are counted without selectors only":       {ignores("labelSelector"), answers(`"continue":`, `"remainingItemCount":1,"continue":`)},
		"list refuses what makes no sense":                         {ignores("resourceVersionMatch"), ignores("sendInitialEvents"), ignores("continue"), codes(400, 422)},
		"list ahead of the server gets 504":                        {ignores("resourceVersion"), codes(504, 500)},
		"selectors select":                                         {ignores("fieldSelector"), ignores("labelSelector")},
		"a common prefix of names and namespaces does not confuse": {ignores("fieldSelector"), answers(`"name":"ab"`, `"name":"a"`)},
		"get takes a revision":                                     {ignores("resourceVersion")},

		"a list of a shard has its objects, or shardSelector is ignored": {gated(answers(`"shardInfo"`, `"other"`)), gated(answers(`"selector":"shardRange`, `"selector":"range`)),
			gated(answers(`"continue":`, `"remainingItemCount":1,"continue":`)), answers(`"metadata":{`, `"metadata":{"shardInfo":{"selector":"x"},`)},
		"a watch of a shard has its events, or shardSelector is ignored": {drops("DELETED"), gated(drops("ADDED")), gated(answers(`"shardInfo"`, `"other"`)), answers(`"metadata":{`, `"metadata":{"shardInfo":{"selector":"x"},`)},
		"a shardSelector that makes no sense is refused, or ignored":     {gated(codes(500, 200)), gated(codes(500, 400)), gated(answers("invalid shard", "bad shard"))},

		"watch sends what happens after the revision":     {drops("DELETED"), doubles(), answers(`"type":"MODIFIED"`, `"type":"ADDED"`), ignores("resourceVersion")},
		"watch resumes without gap or duplicate":          {doubles(), drops("MODIFIED"), ignores("resourceVersion")},
		"watch without a revision begins with everything": {drops("ADDED")},
		"initial events end with a marker":                {answers(`k8s.io/initial-events-end`, `other`), drops("BOOKMARK"), ignores("sendInitialEvents")},
		"initial events without bookmarks have no marker": {bookmarks},
		"watch refuses what makes no sense": {ignores("resourceVersionMatch"), ignores("sendInitialEvents"), ignores("fieldSelector"),
			answers(`,\{"reason":"FieldValueNotSupported"[^}]*\}`, "")},
		"watch ahead of the server is silent":                         {ignores("resourceVersion")},
		"watch with initial events ahead of the server gets an ERROR": {ignores("resourceVersion")},
		"watch from a revision that is gone gets an ERROR":            {begins(`{"type":"ERROR","object":{"kind":"Status","code":500}}` + "\n")},
		"initial events of a revision that is gone are those of now":  {drops("ADDED"), begins(`{"type":"ERROR","object":{"kind":"Status","code":410}}` + "\n")},
		"watch ends at its timeout, after a bookmark":                 {ignores("timeoutSeconds"), ignores("allowWatchBookmarks")},
		"watch does not end by the timeout of requests":               {adds("GET", "timeoutSeconds", "1")},
		"watch sends no bookmark to those who did not ask":            {bookmarks},
		"watch translates transitions of a label selector":            {ignores("labelSelector"), drops("DELETED")},
		"watch of one name":                           {ignores("fieldSelector")},
		"watch of all namespaces":                     {drops("ADDED")},
		"an update that changes nothing is no event":  {touches()},
		"a new object of an old name has another UID": {answers(`"uid":"[^"]*"`, `"uid":"always"`)},

		"create fills in what the server knows":                          {answers(`"creationTimestamp":"[^"]*",?`, ""), codes(201, 200)},
		"create refuses":                                                 {codes(409, 400), ignores("fieldManager", "x").with(overlooks("metadata.namespace")), overlooks("kind")},
		"create takes names, not what the server gives":                  {answers(`"uid":"[^"]*"`, `"uid":"00000000-0000-0000-0000-000000000000"`), overlooks("metadata.name")},
		"update needs the current revision or none":                      {lostUpdates, overlooks("metadata.uid")},
		"update replaces the object":                                     {sends(func(o map[string]any) { o["data"] = map[string]any{"k": "1", "j": "1"} })},
		"each write has a revision of its own, and its event has it too": {answers(`"resourceVersion":"[0-9]+","creation`, `"resourceVersion":"7","creation`), drops("MODIFIED"), doubles()},
		"what does not exist is not found":                               {codes(404, 410), answers("not found", "unknown")},
		"a merge patch sets, deletes by null, and replaces lists":        {takes("Content-Type", mergePatch, strategicPatch)},
		"a JSON patch does all its operations or none":                   {codes(422, 200), overlooksTests()},
		"a strategic merge patch merges lists by their keys":             {takes("Content-Type", strategicPatch, mergePatch)},
		"patch refuses": {ignores("force"), overlooks("metadata.uid"), overlooks("metadata.namespace"), takes("Content-Type", "application/json", mergePatch)},
		"a patch with a revision needs it to be the current one":       {lostUpdates},
		"a patch that changes nothing is no event":                     {touches()},
		"writes of several clients at once are all there in the end":   {codes(409, 200), codes(409, 201)},
		"apply creates, and the applier owns what it set":              {codes(201, 200), ownerless, touches()},
		"apply with a resourceVersion that no object has only creates": {lostUpdates, codes(201, 200), ownerless},
		"apply removes what the applier no longer wants":               {keeps},
		"apply conflicts with other owners, unless forced":             {adds("PATCH", "force", "true"), ignores("force"), ignores("fieldManager").with(adds("PATCH", "fieldManager", "all"))},
		"two appliers of one value share it":                           {ignores("fieldManager").with(adds("PATCH", "fieldManager", "all"))},
		"an update takes the fields that it changes":                   {ignores("fieldManager").with(adds("PATCH", "fieldManager", "all")), ownerless},
		"apply refuses": {lostUpdates, adds("PATCH", "fieldManager", "any"), overlooks("metadata.managedFields"), overlooks("metadata.uid")},
		"delete answers with a Status and keeps preconditions": {overlooks("preconditions"), answers(`"status":"Success"`, `"status":"Done"`)},
		"delete refuses": {overlooks("propagationPolicy"), overlooks("dryRun"), overlooks("orphanDependents")},
		"delete of a collection takes a selector":                                    {ignores("labelSelector"), drops("DELETED")},
		"a finalizer keeps an object until it is removed":                            {overlooks("metadata.finalizers"), drops("MODIFIED")},
		"what is being deleted stays so":                                             {overlooks("metadata.finalizers"), answers(`"deletionTimestamp":"[^"]*",?`, ""), codes(422, 200), answers("object is being deleted: ", "")},
		"delete in the foreground and of the orphaning kind waits for the collector": {overlooks("propagationPolicy"), answers("foregroundDeletion", "orphan"), drops("MODIFIED")},
		"a namespace must exist, and not be going":                                   {{options: func(o *apitest.Options) { o.Namespaces = false }}, ignores("dryRun").with(codes(403, 200)), answers("Terminating", "Active")},

		"the generation counts changes of the spec":                   {answers(`"generation":[0-9]+`, `"generation":1`), countsAll()},
		"the status is written through its subresource only":          {path("/status", ""), overlooks("status"), codes(409, 200)},
		"the scale is a view of the replicas":                         {keepsScale(), path("/scale", ""), lostUpdates, codes(422, 200)},
		"a pod is bound once":                                         {codes(409, 201), path("/binding", ""), answers(`"nodeName":"n"`, `"nodeName":"m"`)},
		"an eviction waits for its budget, and takes from it":         {codes(429, 201), codes(429, 500), answers(`"disruptionsAllowed":0`, `"disruptionsAllowed":1`)},
		"debug containers come and stay":                              {path("/ephemeralcontainers", ""), codes(422, 200), answers(`"busybox"`, `"other"`)},
		"discovery that is known already is not sent again":           {forgets("Etag"), ignoresHeader("If-None-Match")},
		"a custom resource has its subresources, defaults and schema": {path("/status", ""), path("/scale", ""), codes(422, 201), answers(`"color":"red",?`, ""), drops("MODIFIED")},
		"fields are validated as strictly as was asked":               {ignores("fieldValidation"), headless("Warning"), adds("POST", "fieldValidation", "Strict")},
		"what is immutable stays":                                     {overlooks("immutable"), codes(422, 200)},
		"dry runs change nothing":                                     {ignores("dryRun")},
		"a dry run answers as the write would":                        {ignores("dryRun"), overlooks("dryRun"), codes(409, 200), answers(`"uid":"[^"]*",?`, "")},
		"a body beyond 3 MB is refused":                               {codes(413, 400), codes(422, 200)},

		"list as a Table": {takes("Accept", "", "application/json"), ignores("includeObject")},
		"watch as Tables, with the columns in the first": {takes("Accept", "", "application/json"), answers(`"columnDefinitions":(\[\]|null)`, `"columnDefinitions":[{"name":"Name"}]`)},
		"list as metadata":                      {takes("Accept", "", "application/json")},
		"watch as metadata":                     {takes("Accept", "", "application/json")},
		"accept takes the first form that fits": {takes("Accept", "", "application/json"), codes(406, 200)},
		"a large list is compressed":            {takes("Accept-Encoding", "", "identity")},
		"discovery finds ConfigMaps":            {answers(`"configmaps"`, `"others"`), answers(`"watch"`, `"look"`), codes(200, 404)},
	}
}
