// Shows the API documentation. Requests carry the token of the page's own URL, as `/docs/?token=…`.

const token = new URLSearchParams(location.search).get('token');

function withToken(request) {
  const isOwn = new URL(request.url, location.href).origin === location.origin;
  if (token && isOwn && !request.headers.Authorization) {
    request.headers.Authorization = `Bearer ${token}`;
  }
  return request;
}

window.onload = () => {
  window.ui = SwaggerUIBundle({
    url: '/openapi.json',
    dom_id: '#swagger-ui',
    deepLinking: true,
    presets: [SwaggerUIBundle.presets.apis, SwaggerUIStandalonePreset],
    layout: 'StandaloneLayout',
    requestInterceptor: withToken,
  });
};
