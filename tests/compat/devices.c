/*
 * A libibverbs.so.1 with made-up devices of several vendors, for tests/compat.rs: the real
 * ibv_devinfo and rdmactl are run over it, and must print the same.
 *
 * It needs no headers: the layouts are those of tests/fake_verbs/fake.c. GIDs, their types and board
 * ids come from /sys, where the test puts a made-up tree. FAKE_VERBS=empty lists no device.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifdef __aarch64__
enum { MORE = 8 };
#else
enum { MORE = 0 };
#endif
enum { CONTEXT = 328 + MORE, QUERY_PORT = 648 + MORE, QUERY_DEVICE_EX = 432 + MORE };
enum { SZ = CONTEXT + 8, TABLE = 696 + MORE };
enum { NUM_COMP_VECTORS = 272, ABI_COMPAT = 320 + MORE };

struct device {
	void *ops[2];
	int node_type, transport_type;
	char name[64], dev_name[64], dev_path[256], ibdev_path[256];
};

struct port_attr {
	uint32_t state, max_mtu, active_mtu;
	int32_t gid_tbl_len;
	uint32_t port_cap_flags, max_msg_sz, bad_pkey_cntr, qkey_viol_cntr;
	uint16_t pkey_tbl_len, lid, sm_lid;
	uint8_t lmc, max_vl_num, sm_sl, subnet_timeout, init_type_reply, active_width;
	uint8_t active_speed, phys_state, link_layer, flags;
	uint16_t port_cap_flags2;
	uint32_t active_speed_ex;
};

struct device_attr {
	char fw_ver[64];
	uint64_t node_guid, sys_image_guid, max_mr_size, page_size_cap;
	uint32_t vendor_id, vendor_part_id, hw_ver;
	int32_t max_qp, max_qp_wr;
	uint32_t device_cap_flags;
	int32_t max_sge, max_sge_rd, max_cq, max_cqe, max_mr, max_pd, max_qp_rd_atom, max_ee_rd_atom;
	int32_t max_res_rd_atom, max_qp_init_rd_atom, max_ee_init_rd_atom, atomic_cap, max_ee, max_rdd;
	int32_t max_mw, max_raw_ipv6_qp, max_raw_ethy_qp, max_mcast_grp, max_mcast_qp_attach;
	int32_t max_total_mcast_qp_attach, max_ah, max_fmr, max_map_per_fmr, max_srq, max_srq_wr;
	int32_t max_srq_sge;
	uint16_t max_pkeys;
	uint8_t local_ca_ack_delay, phys_port_cnt;
};

struct device_attr_ex {
	struct device_attr orig;
	uint32_t comp_mask;
	uint64_t odp_general;
	uint32_t odp_rc, odp_uc, odp_ud;
	uint64_t completion_timestamp_mask, hca_core_clock, device_cap_flags_ex;
	uint32_t max_tso, tso_qpts;
	uint32_t rss_qpts, rss_tables, rss_table_size;
	uint64_t rss_fields;
	uint8_t rss_function;
	uint32_t max_wq_type_rq;
	uint32_t rate_min, rate_max, pacing_qpts;
	uint32_t raw_packet_caps;
	uint32_t tm_max_rndv, tm_num_tags, tm_flags, tm_max_ops, tm_max_sge;
	uint16_t max_cq_count, max_cq_period;
	uint64_t max_dm_size;
	uint16_t atomics[3];
	uint32_t odp_xrc, phys_port_cnt_ex;
};
_Static_assert(sizeof(struct device_attr) == 232, "as in every release");
_Static_assert(offsetof(struct device_attr_ex, odp_general) == 240, "aligned");

/* One made-up device. */
struct card {
	const char *name;
	int node_type, transport;
	uint64_t guid, system_guid;
	struct device_attr_ex attr;
	struct port_attr ports[2];
	int legacy, cannot_open, cannot_query, refused_port;
	int vectors;
};

static const struct card cards[] = {
	/* ConnectX-7 NDR: every extended capability. */
	{ "mlx5_1", 1, 0, 0x9ca3ba0300123450, 0x9ca3ba0300123450,
	  { .orig = { .fw_ver = "28.39.2048", .max_mr_size = UINT64_MAX,
	    .page_size_cap = 0xfffffffffffff000, .vendor_id = 0x2c9, .vendor_part_id = 4129,
	    .max_qp = 131072, .max_qp_wr = 32768, .device_cap_flags = 0x21361c36, .max_sge = 30,
	    .max_sge_rd = 30, .max_cq = 16777216, .max_cqe = 4194303, .max_mr = 16777216,
	    .max_pd = 8388608, .max_qp_rd_atom = 16, .max_res_rd_atom = 2097152,
	    .max_qp_init_rd_atom = 16, .atomic_cap = 1, .max_mw = 16777216,
	    .max_mcast_grp = 2097152, .max_mcast_qp_attach = 240,
	    .max_total_mcast_qp_attach = 503316480, .max_ah = INT32_MAX, .max_srq = 8388608,
	    .max_srq_wr = 32767, .max_srq_sge = 31, .max_pkeys = 128, .local_ca_ack_delay = 16,
	    .phys_port_cnt = 1 },
	    .odp_general = 3, .odp_rc = 0x3f, .odp_uc = 0x1, .odp_ud = 0x2, .odp_xrc = 0xff,
	    .completion_timestamp_mask = INT64_MAX, .hca_core_clock = 1000000,
	    .device_cap_flags_ex = 0x1421361c36, .max_tso = 262144, .tso_qpts = 0x100,
	    .rss_qpts = 0x110, .rss_tables = 2097152, .rss_table_size = 2048,
	    .rss_fields = 0x800001ff, .rss_function = 1, .max_wq_type_rq = 8388608,
	    .rate_min = 1, .rate_max = 100000000, .pacing_qpts = 0x110, .raw_packet_caps = 0xf,
	    .tm_max_rndv = 64, .tm_num_tags = 127, .tm_flags = 1, .tm_max_ops = 32768,
	    .tm_max_sge = 1, .max_cq_count = 65535, .max_cq_period = 4095, .max_dm_size = 131072 },
	  { { 4, 5, 5, 2, 0xa751e84a, 0x40000000, 0x1f, 0x2, 128, 31, 1, 0, 4, 0, 18, 0, 2, 128, 5, 1,
	      0, 0x7e, 128 } }, .vectors = 63 },
	/* ConnectX-8 XDR, asleep; device without optional capabilities. */
	{ "mlx5_0", 1, 0, 0x9ca3ba0300123460, 0, { .orig = { .fw_ver = "40.44.1036",
	    .vendor_id = 0x2c9, .vendor_part_id = 4131, .hw_ver = 0x80, .phys_port_cnt = 1 } },
	  { { 2, 5, 5, 1, 0xa751ec48, 0x40000000, 0, 0, 128, 65535, 0, 0, 4, 0, 18, 0, 2, 0, 1, 1, 0,
	      0x1c7e, 256 } }, .vectors = 8 },
	/* ConnectX-3, InfiniBand beside Ethernet, through a context without extensions. */
	{ "mlx4_0", 1, 0, 0xf4521403007bcba0, 0xf4521403007bcba3, { .orig = { .fw_ver = "2.42.5000",
	    .max_mr_size = UINT64_MAX, .page_size_cap = 0xfffffe00, .vendor_id = 0x2c9,
	    .vendor_part_id = 4099, .hw_ver = 1, .max_qp = 393144, .max_qp_wr = 16351,
	    .device_cap_flags = 0x057e9c76, .max_fmr = 524288, .max_map_per_fmr = 8191,
	    .max_ah = -1, .max_pkeys = 128, .local_ca_ack_delay = 15, .phys_port_cnt = 2 } },
	  { { 4, 5, 4, 1, 0x0251486a, 0x40000000, 0, 0, 128, 2, 2, 1, 4, 0, 18, 0, 2, 8, 5, 1, 0, 0, 0 },
	    { 1, 5, 3, 2, 0x04010000, 0x40000000, 0, 0, 1, 0, 0, 0, 2, 0, 0, 0, 1, 1, 3, 2, 0, 0, 0 } },
	  .legacy = 1, .vectors = 4 },
	/* EFA: a transport of its own, no GUID. */
	{ "rdmap16s27", 7, 4, 0, 0, { .orig = { .fw_ver = "0.0.0.0", .vendor_id = 0x1d0f,
	    .vendor_part_id = 61344, .hw_ver = 0xefa0, .max_qp = 256, .phys_port_cnt = 1 } },
	  { { 4, 5, 5, 1, 0, 0x2188, 0, 0, 1, 0, 0, 1, 1, 0, 0, 0, 2, 32, 5, 0, 0, 0, 0 } },
	  .vectors = 32 },
	/* Codes that nobody has, bits without a name, no firmware. */
	{ "odd_0", 9, 7, 1, 2, { .orig = { .vendor_id = 0xffffffff, .vendor_part_id = 0xffffffff,
	    .hw_ver = 0xabcdef, .device_cap_flags = 0xffffffff, .atomic_cap = 9,
	    .max_qp = -5, .phys_port_cnt = 2 },
	    .odp_general = 0xff00000000000004, .odp_rc = 0xffffff00, .device_cap_flags_ex = UINT64_MAX,
	    .max_tso = 0x80000000, .tso_qpts = 0xffffffff, .rss_qpts = 0xffffffff, .rate_max = 1,
	    .pacing_qpts = 0xffffffff, .tm_num_tags = 1, .max_cq_count = 1, .raw_packet_caps = 0x30 },
	  { { 9, 0, 99, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 77, 9, 9, 9, 3, 3, 8, 9, 0, 0xffff, 0 },
	    { 5, 2, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 5, 0, 0, 0, 8, 64, 4, 0, 0, 0, 16 } },
	  .vectors = 0 },
	{ "stuck_open", 1, 0, 3, 3, .cannot_open = 1 },
	{ "stuck_query", 1, 1, 4, 4, .cannot_query = 1 },
	{ "stuck_port", 1, 1, 5, 5, { .orig.phys_port_cnt = 2 }, { { .state = 4 } }, .refused_port = 2 },
	{ "stuck_gid", 1, 0, 6, 6, { .orig.phys_port_cnt = 1 }, { { .state = 4, .gid_tbl_len = 3 } } },
};
enum { COUNT = sizeof(cards) / sizeof(*cards) };

static struct device devices[COUNT];
static struct device *list[COUNT + 1];
static _Alignas(8) unsigned char tables[COUNT][TABLE];

static const struct card *card_of(void *context)
{
	return cards + ((unsigned char *)context - tables[0]) / TABLE;
}

static int query_port(void *context, uint8_t port, struct port_attr *attr, size_t size)
{
	const struct card *card = card_of(context);

	if (!port || port > card->attr.orig.phys_port_cnt || port == card->refused_port)
		return EIO;
	memcpy(attr, &card->ports[port - 1], size < sizeof(*attr) ? size : sizeof(*attr));
	return 0;
}

static void fill(const struct card *card, struct device_attr *attr)
{
	*attr = card->attr.orig;
	attr->node_guid = __builtin_bswap64(card->guid);
	attr->sys_image_guid = __builtin_bswap64(card->system_guid);
}

static int query_device_ex(void *context, const void *input, struct device_attr_ex *attr, size_t size)
{
	const struct card *card = card_of(context);

	(void)input;
	if (card->cannot_query)
		return EINVAL;
	memcpy(attr, &card->attr, size < sizeof(*attr) ? size : sizeof(*attr));
	fill(card, &attr->orig);
	return 0;
}

struct device **ibv_get_device_list(int *count)
{
	const char *kind = getenv("FAKE_VERBS");
	int i, most = kind && !strcmp(kind, "empty") ? 0 : COUNT;

	for (i = 0; i < most; i++) {
		devices[i].node_type = cards[i].node_type;
		devices[i].transport_type = cards[i].transport;
		strcpy(devices[i].name, cards[i].name);
		sprintf(devices[i].ibdev_path, "/sys/class/infiniband/%s", cards[i].name);
		list[i] = &devices[i];
	}
	list[most] = NULL;
	if (count)
		*count = most;
	return list;
}

void ibv_free_device_list(struct device **freed)
{
	(void)freed;
}

const char *ibv_get_device_name(struct device *asked)
{
	return asked->name;
}

uint64_t ibv_get_device_guid(struct device *asked)
{
	return __builtin_bswap64(cards[asked - devices].guid);
}

static void put(unsigned char *table, size_t from_end, const void *value, size_t size)
{
	memcpy(table + TABLE - from_end, value, size);
}

void *ibv_open_device(struct device *opened)
{
	const struct card *card = cards + (opened - devices);
	unsigned char *table = tables[opened - devices];
	uintptr_t extended = UINTPTR_MAX;
	size_t size = TABLE;
	void *port = query_port, *query = query_device_ex;

	if (card->cannot_open) {
		errno = EACCES;
		return NULL;
	}
	memset(table, 0, TABLE);
	put(table, CONTEXT, &opened, sizeof(opened));
	put(table, CONTEXT - NUM_COMP_VECTORS, &card->vectors, sizeof(card->vectors));
	if (card->legacy)
		return table + TABLE - CONTEXT;
	put(table, QUERY_DEVICE_EX, &query, sizeof(query));
	put(table, QUERY_PORT, &port, sizeof(port));
	put(table, SZ, &size, sizeof(size));
	put(table, CONTEXT - ABI_COMPAT, &extended, sizeof(extended));
	return table + TABLE - CONTEXT;
}

int ibv_close_device(void *context)
{
	(void)context;
	return 0;
}

int ibv_query_device(void *context, struct device_attr *attr)
{
	fill(card_of(context), attr);
	return 0;
}

int ibv_query_port(void *context, uint8_t port, struct port_attr *attr)
{
	return query_port(context, port, attr, offsetof(struct port_attr, port_cap_flags2));
}

static int read_file(const char *folder, const char *file, char *text, size_t size)
{
	char path[512];
	size_t length;
	FILE *opened;

	snprintf(path, sizeof(path), "%s/%s", folder, file);
	opened = fopen(path, "r");
	if (!opened)
		return -1;
	length = fread(text, 1, size - 1, opened);
	fclose(opened);
	if (length && text[length - 1] == '\n')
		length--;
	text[length] = 0;
	return length;
}

int ibv_read_sysfs_file(const char *folder, const char *file, char *text, size_t size)
{
	return read_file(folder, file, text, size);
}

static int read_port_file(void *context, uint8_t port, const char *kind, int index, char *text, size_t size)
{
	char folder[256], file[64];

	snprintf(folder, sizeof(folder), "/sys/class/infiniband/%s/ports/%d", card_of(context)->name, port);
	snprintf(file, sizeof(file), "%s/%d", kind, index);
	return read_file(folder, file, text, size);
}

int ibv_query_gid(void *context, uint8_t port, int index, uint8_t *gid)
{
	char text[64];

	if (read_port_file(context, port, "gids", index, text, sizeof(text)) < 0)
		return -1;
	return inet_pton(AF_INET6, text, gid) == 1 ? 0 : -1;
}

int ibv_query_gid_type(void *context, uint8_t port, unsigned int index, unsigned int *type)
{
	char text[64];

	if (read_port_file(context, port, "gid_attrs/types", index, text, sizeof(text)) < 0)
		return -1;
	*type = !strcmp(text, "RoCE v2");
	return 0;
}

/* Younger than most tools: rdmactl asks for both where they are. */
int ibv_query_port_speed(void *context, uint32_t port, uint64_t *speed_100mbps)
{
	if (card_of(context)->legacy)
		return EOPNOTSUPP;
	*speed_100mbps = port == 1 ? 8025 : 0;
	return 0;
}

struct comp_cntr_caps {
	uint64_t max_value;
	uint32_t max_counters, supported_qp_attach_ops;
};

int _ibv_query_comp_cntr_caps(void *context, struct comp_cntr_caps *caps, size_t size)
{
	if (card_of(context) != cards || size != sizeof(*caps))
		return EOPNOTSUPP;
	caps->max_value = UINT64_MAX;
	caps->max_counters = 4096;
	caps->supported_qp_attach_ops = 0x3f;
	return 0;
}

/* The rest is there to be found, and is never called. */
#define NOTHING(name) long name(void) { return 0; }
NOTHING(ibv_query_pkey)
NOTHING(ibv_alloc_pd)
NOTHING(ibv_dealloc_pd)
NOTHING(ibv_reg_mr)
NOTHING(ibv_dereg_mr)
NOTHING(ibv_create_comp_channel)
NOTHING(ibv_destroy_comp_channel)
NOTHING(ibv_create_cq)
NOTHING(ibv_destroy_cq)
NOTHING(ibv_get_cq_event)
NOTHING(ibv_ack_cq_events)
NOTHING(ibv_create_qp)
NOTHING(ibv_modify_qp)
NOTHING(ibv_destroy_qp)
NOTHING(ibv_create_ah)
NOTHING(ibv_destroy_ah)
