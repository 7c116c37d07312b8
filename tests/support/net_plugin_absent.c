/* A library that plugin_lacking needs and that the loader does not find. */
int net_plugin_absent(void);

int net_plugin_absent(void) {
    return 0;
}
