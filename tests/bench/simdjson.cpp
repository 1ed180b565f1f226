// What the scanner is measured against: simdjson's DOM over many documents, on one thread.
#include <simdjson.h>

extern "C" long simdjson_pass(const char *p, size_t n, size_t longest);
extern "C" const char *simdjson_kernel(void);

const char *
simdjson_kernel(void)
{
	static const std::string name = simdjson::get_active_implementation()->name();

	return name.c_str();
}

// Parses all lines; how many there were, or -1. p has SIMDJSON_PADDING readable bytes behind it.
long
simdjson_pass(const char *p, size_t n, size_t longest)
{
	static simdjson::dom::parser parser;
	simdjson::dom::document_stream lines;
	long count = 0;

#ifdef SIMDJSON_THREADS_ENABLED
	parser.threaded = false;
#endif
	if (parser.parse_many(p, n, longest < 1000000 ? 1000000 : longest + 64).get(lines))
		return -1;
	for (auto line : lines) {
		if (line.error())
			return -1;
		count++;
	}
	return count;
}
