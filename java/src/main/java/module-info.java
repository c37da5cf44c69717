/** Exact, fast, in-process rate and concurrency limiters. */
module io.github.tidegate {
    exports io.github.tidegate;
}
