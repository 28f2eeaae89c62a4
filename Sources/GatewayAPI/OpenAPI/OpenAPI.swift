/// The description of the API in OpenAPI 3.1, made from the route table.
///
/// A new route gets an ``Operation`` in the ``Area`` that it belongs to; ``RouteDescription`` adds what follows from the
/// route itself (captures, roles, the errors that come with keys and bodies).
enum OpenAPI {}
