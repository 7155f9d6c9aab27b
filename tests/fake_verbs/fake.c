/*
 * A libibverbs.so.1 with one made-up device, for tests/verbs_loader.rs.
 *
 * It needs no headers: the layouts below are those that every rdma-core release since v17 has. The
 * environment variable FAKE_VERBS says what kind of library this is:
 *
 *   extended   a present one: extended context, its own query_port and query_device_ex
 *   legacy     a context that is not extended (abi_compat is NULL)
 *   short      an extended context that ends before query_port, as in v17; garbage lies there
 *   nosys      query_device_ex answers ENOSYS, as v17 does
 *   notsupp    query_device_ex answers EOPNOTSUPP, as v28 does
 *   einval     query_device_ex answers EINVAL: a real failure
 *   nokernel   the device list is NULL with ENOSYS: no RDMA modules in the kernel
 *   denied     the device list is NULL with EACCES
 *   empty      a list without devices
 *   noopen     the device cannot be opened
 *   once       the device list can be had once
 *
 * Compiled with -DWITHOUT_MODIFY_QP the library lacks a function; with -DWITH_SPEED it has one more.
 */
#include <errno.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* The mutex in the context is larger on aarch64. */
#ifdef __aarch64__
enum { MORE = 8 };
#else
enum { MORE = 0 };
#endif
/* The context, and the distances of its extended functions from the end of the table around it. */
enum { CONTEXT = 328 + MORE, QUERY_PORT = 648 + MORE, QUERY_DEVICE_EX = 432 + MORE };
enum { SZ = CONTEXT + 8, TABLE = 696 + MORE };
/* Within the context. */
enum { NUM_COMP_VECTORS = 272, ABI_COMPAT = 320 + MORE };
/* The size of the table of v17. */
enum { SHORT_TABLE = 536 + MORE };

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
	/* From here on only by the extended query. */
	uint16_t port_cap_flags2;
	uint32_t active_speed_ex;
};

struct device_attr {
	char fw_ver[64];
	uint64_t node_guid, sys_image_guid, max_mr_size, page_size_cap;
	uint32_t vendor_id, vendor_part_id, hw_ver;
	int32_t max_qp;
	char rest[224 - 64 - 4 * 8 - 4 * 4];
	uint16_t max_pkeys;
	uint8_t local_ca_ack_delay, phys_port_cnt;
};

static struct device device = { .node_type = 1, .name = "fake0" };
static struct device *list[] = { &device, NULL };
static _Alignas(8) unsigned char table[TABLE];
static unsigned char *const end = table + TABLE;

static int is(const char *kind)
{
	const char *asked = getenv("FAKE_VERBS");

	return asked && !strcmp(asked, kind);
}

static void put(size_t from_end, const void *value, size_t size)
{
	memcpy(end - from_end, value, size);
}

static void fill_basic_port(struct port_attr *attr)
{
	attr->state = 4;
	attr->max_mtu = 5;
	attr->active_mtu = 5;
	attr->gid_tbl_len = 8;
	attr->pkey_tbl_len = 128;
	attr->lid = 0x1234;
	attr->sm_lid = 1;
	attr->active_width = 2;
	attr->active_speed = 128;
	attr->phys_state = 5;
	attr->link_layer = 1;
}

static int query_port_ex(void *context, uint8_t port, struct port_attr *attr, size_t size)
{
	(void)context;
	if (port != 1 || size < sizeof(*attr))
		return EINVAL;
	memset(attr, 0, size);
	fill_basic_port(attr);
	attr->port_cap_flags2 = 1 << 12;
	attr->active_speed_ex = 256; /* XDR */
	return 0;
}

static void fill_device(struct device_attr *attr)
{
	memset(attr, 0, sizeof(*attr));
	strcpy(attr->fw_ver, "28.43.1014");
	attr->node_guid = __builtin_bswap64(0x0002c90300112233ull);
	attr->max_qp = 131072;
	attr->max_pkeys = 128;
	attr->phys_port_cnt = 1;
}

static int query_device_ex(void *context, const void *input, void *attr, size_t size)
{
	(void)context;
	(void)input;
	memset(attr, 0xff, size); /* what a failing driver may leave behind */
	if (is("nosys"))
		return ENOSYS;
	if (is("notsupp"))
		return EOPNOTSUPP;
	if (is("einval"))
		return EINVAL;
	memset(attr, 0, size);
	fill_device(attr);
	return 0;
}

struct device **ibv_get_device_list(int *count)
{
	if (is("nokernel") || is("denied")) {
		errno = is("denied") ? EACCES : ENOSYS;
		return NULL;
	}
	static int lists;
	if (is("once") && lists++) {
		errno = EMFILE;
		return NULL;
	}
	*count = !is("empty");
	return list + is("empty");
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
	(void)asked;
	return __builtin_bswap64(0x0002c90300112233ull);
}

void *ibv_open_device(struct device *opened)
{
	uintptr_t extended = UINTPTR_MAX, garbage = 0xdead;
	size_t size = is("short") ? SHORT_TABLE : TABLE;
	void *port = query_port_ex, *query = query_device_ex;
	int vectors = 3;

	if (is("noopen")) {
		errno = EACCES;
		return NULL;
	}
	memset(table, 0, sizeof(table));
	put(CONTEXT, &opened, sizeof(opened));
	put(CONTEXT - NUM_COMP_VECTORS, &vectors, sizeof(vectors));
	put(QUERY_DEVICE_EX, &query, sizeof(query));
	put(QUERY_PORT, is("short") ? (void *)&garbage : &port, sizeof(port));
	put(SZ, &size, sizeof(size));
	if (is("legacy"))
		memset(table, 0xee, TABLE - CONTEXT); /* there is no table around it */
	else
		put(CONTEXT - ABI_COMPAT, &extended, sizeof(extended));
	return end - CONTEXT;
}

int ibv_close_device(void *context)
{
	(void)context;
	return 0;
}

int ibv_query_device(void *context, struct device_attr *attr)
{
	(void)context;
	fill_device(attr);
	return 0;
}

int ibv_query_port(void *context, uint8_t port, struct port_attr *attr)
{
	(void)context;
	if (port != 1)
		return EINVAL;
	fill_basic_port(attr);
	return 0;
}

int ibv_query_gid(void *context, uint8_t port, int index, uint8_t *gid)
{
	(void)context;
	if (port != 1 || index) {
		errno = ENODATA;
		return -1;
	}
	memset(gid, 0xab, 16);
	return 0;
}

int ibv_query_pkey(void *context, uint8_t port, int index, uint16_t *pkey)
{
	(void)context;
	(void)port;
	*pkey = __builtin_bswap16(0x8001 + index);
	return 0;
}

#ifdef WITH_SPEED
int ibv_query_port_speed(void *context, uint32_t port, uint64_t *speed)
{
	(void)context;
	(void)port;
	*speed = 8000;
	return 0;
}
#endif

/* The rest is there to be found, and is never called. */
#define NOTHING(name) long name(void) { return 0; }
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
#ifndef WITHOUT_MODIFY_QP
NOTHING(ibv_modify_qp)
#endif
NOTHING(ibv_destroy_qp)
NOTHING(ibv_create_ah)
NOTHING(ibv_destroy_ah)
