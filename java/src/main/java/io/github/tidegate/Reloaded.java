package io.github.tidegate;

import java.util.List;

/**
 * What a change of a {@link Gate}'s rules did, by the rules' names, in the order in which they are written.
 *
 * @param unchanged rules that are as they were
 * @param changed rules that changed; what is used of them stays used
 * @param restarted rules that changed so that nothing could be kept
 * @param added rules that are new
 * @param removed rules that are gone; requests that hold something of them keep it until they are done
 */
public record Reloaded(
        List<String> unchanged,
        List<String> changed,
        List<String> restarted,
        List<String> added,
        List<String> removed) {
    static Reloaded of(Object json) {
        return new Reloaded(
                Json.texts(Json.field(json, "unchanged")),
                Json.texts(Json.field(json, "changed")),
                Json.texts(Json.field(json, "restarted")),
                Json.texts(Json.field(json, "added")),
                Json.texts(Json.field(json, "removed")));
    }
}
